/** What a command does when its output or its messages can no longer be written. */

/** Watches both streams; a reader that closes early is not an error. */
export function watchOutput(): void {
  process.stdout.on('error', endOutput);
  // A message that cannot be written, as into a file on a full disk, neither ends the command nor changes its exit code.
  process.stderr.on('error', () => undefined);
}

export function endOutput({ code, message }: NodeJS.ErrnoException): never {
  // `agent … | head` closes the pipe; the rest has no reader.
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(
    `agent: the output is incomplete: ${message}; make room on its disk, or send the output elsewhere\n`,
  );
  process.exit(1);
}
