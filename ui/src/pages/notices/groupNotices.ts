import type { Schemas } from "@/api/client";

type Notice = Schemas["PersonNotice"];

/** Equal notices that follow each other within a short time: the newest one, and all of their ids. */
export type NoticeGroup = { newest: Notice; ids: string[] };

/** How far apart two equal notices of a flapping service may be, in ms. */
const APART = 60 * 60_000;

/**
 * Puts equal notices together, the newest first as they come. One that is read never hides one that
 * is not, and what a person wrote is never put together.
 */
export function groupNotices(all: Notice[]): NoticeGroup[] {
  const groups: NoticeGroup[] = [];
  const open = new Map<string, { group: NoticeGroup; oldest: number }>();
  for (const notice of all) {
    const at = Date.parse(notice.at);
    const key = JSON.stringify([notice.kind, notice.subject, notice.link, notice.read]);
    const known = notice.by ? undefined : open.get(key);
    if (known && known.oldest - at <= APART) {
      known.group.ids.push(notice.id);
      known.oldest = at;
      continue;
    }
    const group = { newest: notice, ids: [notice.id] };
    groups.push(group);
    open.set(key, { group, oldest: at });
  }
  return groups;
}

/** How many that were not read there are to look at: equal ones are one. */
export const countUnread = (all: Notice[]) =>
  groupNotices(all).filter(({ newest }) => !newest.read).length;
