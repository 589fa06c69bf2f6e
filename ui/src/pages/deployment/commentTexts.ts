// What the tab of comments says; loaded with it.

export const commentTexts = {
  title: "Comments",
  label: "Your comment",
  hint: "Everybody who may see this deployment reads it. @name tells a person.",
  send: "Comment",
  sending: "Sending…",
  empty: "No comments yet",
  emptyMore: "Say here what you found, where everybody sees what it is about.",
  unread: "The comments could not be read.",
  mention: (name: string) => `Mention ${name}`,
  people: "People to mention",
  told: (names: string) => `${names} will read it in their notices.`,
  untold: (names: string) => `Nobody who may see this deployment has the name ${names}.`,
  remove: "Delete",
  removeOf: (author: string) => `Delete the comment of ${author}`,
  commentOf: (author: string) => `The comment of ${author}`,
  removeTitle: "Delete this comment?",
  removeBody: "It is gone for everybody. Who was mentioned keeps the notice.",
  looking: (name: string) => `You are viewing as ${name}, who would write here.`,
};
