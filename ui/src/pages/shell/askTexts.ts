// What who lacks access is offered; loaded by them only.

export const askTexts = {
  ask: "Ask",
  asking: "Asking…",
  asked: "You asked the admins",
  hint: "Ask the admins for this access",
};
