/**
 * Bounds the body of an answer that is not a stream of events: one message must fit in memory. Counts bytes and reads
 * none of them.
 * @see LIF-13 in docs/specification.md
 */

/** The answer itself where it is a stream or has no body; throws where it says that it is too long. */
export async function boundBody(response: Response, maxBytes: number, who: string): Promise<Response> {
  const { body, headers, status, statusText } = response;
  if (body === null || (headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream'))
    return response;
  const tooLong = (): Error => new Error(`${who}: answers with more than ${maxBytes} bytes`);
  if (Number(headers.get('content-length')) > maxBytes) {
    await body.cancel();
    throw tooLong();
  }
  let bytes = 0;
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) controller.error(tooLong());
        else controller.enqueue(chunk);
      },
    }),
  );
  return new Response(counted, { headers, status, statusText });
}
