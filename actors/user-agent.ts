/**
 * The gateway's name to platforms and public pages (RFC 9110 section 10.1.5). Without the version, which would only help
 * attackers who look for an old one.
 */
export const ownUserAgent = 'AgentGateway-Agent';
