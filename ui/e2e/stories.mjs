// All browser stories, by when they are told. tools/promises reads the three lists.

import { stories as access } from "./access.mjs";
import { stories as accessibility } from "./accessibility.mjs";
import { stories as admin } from "./admin.mjs";
import { stories as axe } from "./axe.mjs";
import { stories as choosing } from "./choosing.mjs";
import { stories as clicks } from "./clicks.mjs";
import { stories as clone } from "./clone.mjs";
import { stories as cookies } from "./cookies.mjs";
import { stories as dialogs } from "./dialogs.mjs";
import { stories as doors } from "./doors.mjs";
import { stories as drawing } from "./drawing.mjs";
import { stories as drop } from "./drop.mjs";
import { stories as editor } from "./editor.mjs";
import { stories as engineer } from "./engineer.mjs";
import { stories as factors } from "./factors.mjs";
import { stories as failure } from "./failure.mjs";
import { stories as first } from "./first.mjs";
import { stories as forks } from "./forks.mjs";
import { stories as gallery } from "./gallery.mjs";
import { stories as gestures } from "./gestures.mjs";
import { stories as granting } from "./granting.mjs";
import { stories as hostile } from "./hostile.mjs";
import { stories as inbox } from "./inbox.mjs";
import { stories as judging } from "./judging.mjs";
import { stories as keyboard } from "./keyboard.mjs";
import { stories as keys } from "./keys.mjs";
import { stories as lacks } from "./lacks.mjs";
import { stories as life } from "./life.mjs";
import { stories as list } from "./list.mjs";
import { stories as live } from "./live.mjs";
import { stories as locales } from "./locales.mjs";
import { stories as logs } from "./logs.mjs";
import { stories as main } from "./main.mjs";
import { stories as met } from "./met.mjs";
import { stories as nodes } from "./nodes.mjs";
import { stories as nothing } from "./nothing.mjs";
import { stories as observing } from "./observing.mjs";
import { stories as oversight } from "./oversight.mjs";
import { stories as overview } from "./overview.mjs";
import { stories as people } from "./people.mjs";
import { stories as plugins } from "./plugins.mjs";
import { stories as presence } from "./presence.mjs";
import { stories as qa } from "./qa.mjs";
import { stories as reach } from "./reach.mjs";
import { stories as roles } from "./roles.mjs";
import { stories as runHere } from "./runhere.mjs";
import { stories as screens } from "./screens.mjs";
import { stories as sources } from "./sources.mjs";
import { stories as states } from "./states.mjs";
import { stories as talk } from "./talk.mjs";
import { stories as two, long as twoLong } from "./two.mjs";
import { stories as wcag } from "./wcag.mjs";

/** A line that was lost, or a word that became an element. */
const lines = live.filter(([name]) => /loses no line|^hostile/.test(name));

/** Told in every run: what the product promises first of all. */
export const every = [access, main, lines, accessibility, failure].flat();

/** Told in one run of seven, which the name decides and the weekday: see part.mjs. */
export const rotated = [
  live.filter((story) => !lines.includes(story)),
  plugins,
  drawing,
  overview,
  nodes,
  admin,
  factors,
  people,
  granting,
  lacks,
  life,
  oversight,
  roles,
  talk,
  inbox,
  judging,
  presence,
  forks,
  sources,
  qa,
  reach,
  cookies,
  choosing,
  clone,
  list,
  logs,
  observing,
  editor,
  runHere,
  gestures,
  wcag,
  screens,
  engineer,
  keyboard,
  keys,
  two,
  met,
  hostile,
].flat();

/** Minutes long: told when they are named, or all of them with --slow. */
export const slow = [
  clicks,
  drop,
  first,
  axe,
  states,
  dialogs,
  nothing,
  doors,
  gallery,
  locales,
  twoLong,
].flat();

/**
 * Those that fail the run at once. A race between two windows or people, a line that was lost, a word
 * that became an element, a door that stood open, a fault of accessibility: no slow engine explains
 * one of those.
 */
export const strict = [
  access,
  accessibility,
  axe,
  dialogs,
  doors,
  drop,
  hostile,
  lacks,
  met,
  nothing,
  roles,
  states,
  two,
  twoLong,
  lines,
].flat();
