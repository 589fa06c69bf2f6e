import { expect, it } from "vitest";
import { levelOf, parseRecord } from "./logLevel";

it("reads how serious a line is, as programs say it", () => {
  for (const [text, level] of [
    ['{"level":"ERROR","msg":"no"}', "error"],
    ['{"level":50,"msg":"no"}', "error"],
    ['{"level":40,"msg":"no"}', "warn"],
    ['{"severity":"WARNING"}', "warn"],
    ['{"time":"2026","levelname":"critical"}', "error"],
    ['time=2026 level=info msg="0 errors"', "info"],
    ["2026-11-21T10:00:00Z ERROR cannot connect", "error"],
    ["10:00:00 [main] ERROR com.shop.Cart - no", "error"],
    ["[warn] disk is nearly full", "warn"],
    ["error: relation does not exist", "error"],
    ["panic: runtime error", "error"],
    ["Traceback (most recent call last):", "error"],
    ["ValueError: DATABASE_URL is empty", "error"],
    ["java.net.ConnectException: refused", "error"],
    ["Caused by: java.io.IOException", "error"],
    ["2026/11/21 10:00:00 [error] 7#7: *1 open() failed", "error"],
  ])
    expect([text, levelOf(text as string)]).toEqual([text, level]);
});

it("does not take words of a sentence for a level", () => {
  for (const text of [
    "0 errors, 2 warnings",
    "the error page was served",
    "listening on port 80",
    '{"count":3}',
    "no ERRORS at all",
    "",
  ])
    expect([text, levelOf(text)]).toEqual([text, undefined]);
});

it("takes records apart, and leaves text alone", () => {
  expect(parseRecord('{"level":"error","msg":"no","port":80,"err":{"code":"X"}}')).toEqual({
    message: "no",
    fields: [
      ["port", "80"],
      ["err", '{"code":"X"}'],
    ],
  });
  expect(parseRecord('level=info msg="it \\"works\\"" took=3ms')).toEqual({
    message: 'it "works"',
    fields: [["took", "3ms"]],
  });
  for (const text of ['{"count":3}', "[1]", "{broken", "a=b c", "msg=one and more", "null", "x"])
    expect([text, parseRecord(text)]).toEqual([text, undefined]);
});
