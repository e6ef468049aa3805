/**
 * The forms of a `chat_id` or `home_channel`, for the platforms where one pattern holds them all: what the configuration
 * check and the platform's own file compare a place with.
 * @see DLV-2 in docs/specification.md
 */

export interface TargetPlace {
  readonly form: RegExp;
  /** The form in words, after "is". */
  readonly is: string;
}

/** One address. */
export const mailAddress = /^[^\s<>(),;:"@\\[\]]{1,64}@[^\s<>(),;:"@\\[\]]{1,255}$/u;

export const targetPlaces: ReadonlyMap<string, TargetPlace> = new Map([
  [
    'telegram',
    {
      form: /^(?:-?\d{1,20}|@[A-Za-z]\w{3,31})$/,
      is: 'a number, or @ and the name of a public channel or group',
    },
  ],
  ['discord', { form: /^\d{15,21}$/, is: 'the number of a channel or a thread' }],
  [
    'slack',
    {
      form: /^(?:[A-Z][A-Z0-9]{6,20}|#[^\s#]{1,80})$/u,
      is: 'a channel’s or user’s id such as C0123456789, or #name',
    },
  ],
  ['sms', { form: /^\+[1-9]\d{5,14}$/, is: 'a number such as +15551234567' }],
  [
    'matrix',
    {
      form: /^(?:![^\s:]+(?::\S+)?|#[^\s:]+:\S+)$/,
      is: 'a room’s id such as !abc:example.org, or its alias such as #ops:example.org',
    },
  ],
  ['mattermost', { form: /^[a-z\d]{26}$/, is: 'a channel’s id of 26 letters and digits' }],
  [
    'homeassistant',
    {
      form: /^(?:notify\.)?[a-z\d_]{1,128}$/,
      is: 'persistent_notification, or the name of a notify service such as mobile_app_phone',
    },
  ],
  [
    'email',
    {
      form: mailAddress,
      is: 'one address such as me@example.org',
    },
  ],
]);
