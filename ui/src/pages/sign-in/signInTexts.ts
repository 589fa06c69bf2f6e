// What the page of signing in says; loaded with it.

export const signInTexts = {
  title: (host: string) => `Sign in to ${host}`,
  user: "User name",
  password: "Password",
  submit: "Sign in",
  busy: "Checking…",
  forgotten: "Forgotten it? An admin of this installation can reset it.",
  with: (name: string) => `Sign in with ${name}`,
  userMissing: "Type your user name.",
  passwordMissing: "Type your password.",
  passkey: "Use a passkey",
  passkeyBusy: "Waiting for your passkey…",
  code: "Code",
  codeHint: "Of your authenticator app, or a recovery code.",
  codeMissing: "Type the code that your authenticator app shows.",
  codeSubmit: "Continue",
  codeTitle: "One more thing",
  back: "Back",
};
