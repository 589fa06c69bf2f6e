// What pages say that ask for a passkey.

export const passkeyTexts = {
  closed: "No passkey was used. Try again, or sign in another way.",
  elsewhere: "Passkeys belong to the address that NullOps is set up with. Open it there.",
  known: "This device has a passkey for you already.",
};
