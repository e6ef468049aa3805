/** A view as it was before the frame, with its own styles; to be gone with the last of them. */

import type { ComponentChildren, JSX } from 'preact';
import { Head } from './head.tsx';

export function OldBody({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <>
      <Head title={title} />
      <div class="old">{children}</div>
    </>
  );
}
