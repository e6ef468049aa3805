/** A command that is refused: thrown by handlers, carried over the socket with its stable code. */

export class Refusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
  }
}
