/** The short form of a commit's hash, as git and the tags of builds spell it. */
export const shortCommit = (hash: string) => hash.slice(0, 7);
