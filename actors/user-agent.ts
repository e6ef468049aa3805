/**
 * What the gateway calls itself to platforms and to public pages (RFC 9110 section 10.1.5). Without its version: that
 * helps nobody there but who looks for an old one.
 */
export const ownUserAgent = 'AgentGateway-Agent';
