// What the page about an environment says of certificates from an authority.

export const orderTexts = {
  title: "Certificates from an authority",
  what: "Ordered and renewed by NullOps (ACME). Hosts without one get the internal authority's, if there is one.",
  unread: "The orders for certificates could not be read.",
  states: { waiting: "ordered", valid: "valid", failing: "failing", expired: "expired" },
  ends: "Ends",
  next: "Next try",
  notRenewed: "Not renewed: nothing needs it any more.",
  challenge: "Order them",
  challenges: [
    { value: "", label: "No" },
    { value: "http-01", label: "For each deployment's hosts; port 80 is asked (http-01)" },
    { value: "dns-01", label: "As wildcards; the name server is asked (dns-01)" },
  ],
  letsEncrypt: "https://acme-v02.api.letsencrypt.org/directory",
  directory: "Authority's directory",
  directoryHint:
    "Saving agrees to its terms. To try first: https://acme-staging-v02.api.letsencrypt.org/directory",
  email: "E-mail it may write to",
  roots: "Root of the directory, PEM",
  rootsHint: "For an authority of your own that systems do not trust.",
  dns: "How the name server is told",
  servers: [
    { value: "rfc2136", label: "Dynamic updates with a TSIG key (RFC 2136)" },
    { value: "webhook", label: "A webhook of yours" },
  ],
  server: "Name server, host:port",
  webhook: "Webhook's URL",
  webhookHint:
    "NullOps posts fqdn and value to URL/present and URL/cleanup, as lego's httpreq does.",
  key: "Name of the TSIG key, hmac-sha256",
  user: "User",
  secret: "TSIG key, base64",
  password: "Password",
  secretSet: "One is stored. Type another one to replace it.",
  save: "Save orders",
  same: "Nothing is changed yet.",
  saved: (name: string) => `How ${name} gets certificates is saved.`,
  retry: "Try again now",
};
