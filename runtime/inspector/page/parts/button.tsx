/** A button of the page, with an icon before its words. */

import type { ComponentProps, JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';

export interface ButtonProps extends Omit<ComponentProps<'button'>, 'class' | 'icon'> {
  /** Its looks: `primary`, `danger`, `risky`, `quiet`, `tall`, and others of the style sheet. */
  readonly class?: string;
  readonly icon?: IconName;
}

export function Button({ class: look = '', icon, children, ...more }: ButtonProps): JSX.Element {
  return (
    <button type="button" {...more} class={look === '' ? 'btn' : `btn ${look}`}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
