/**
 * Lends nodemailer's SMTP transport to the `email` target. The package is loaded with the first mail: a gateway that sends
 * none pays nothing for it.
 * @see DLV-1 in docs/specification.md
 */

import type { MailTransportFactory } from './targets/email.ts';

export const createMailTransport: MailTransportFactory = async (options) => {
  const { createTransport } = await import('nodemailer');
  return createTransport(options);
};
