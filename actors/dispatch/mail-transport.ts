/**
 * Provides nodemailer's SMTP transport to the `email` target. Loaded with the first mail, so a gateway that sends none
 * does not load the package.
 * @see DLV-1 in docs/specification.md
 */

import type { MailTransportFactory } from './targets/email.ts';

export const createMailTransport: MailTransportFactory = async (options) => {
  const { createTransport } = await import('nodemailer');
  return createTransport(options);
};
