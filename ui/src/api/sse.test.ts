import { describe, expect, it } from "vitest";
import { SseParser } from "./sse";

const stream =
  ': hello\n\nid: 1-0\nevent: step\ndata: {"a":1}\n\nevent: progress\ndata: {}\n\nid: 2-7\r\nevent: line\r\ndata: x\r\ndata: y\r\n\r\n';

const expected = [
  { event: "step", data: '{"a":1}', id: "1-0" },
  { event: "progress", data: "{}", id: "1-0" },
  { event: "line", data: "x\ny", id: "2-7" },
];

describe("the event stream", () => {
  it("is read whole", () => expect(new SseParser().push(stream)).toEqual(expected));

  it("is read the same in pieces of every size", () => {
    for (let size = 1; size < stream.length; size++) {
      const parser = new SseParser();
      const out = [];
      for (let at = 0; at < stream.length; at += size)
        out.push(...parser.push(stream.slice(at, at + size)));
      expect(out, `pieces of ${size}`).toEqual(expected);
    }
  });

  it("does not count the id of an event that was cut off", () => {
    const parser = new SseParser("5-5");
    expect(parser.push("id: 6-0\nevent: step\ndata: {}\n")).toEqual([]);
    expect(new SseParser("5-5").push("event: progress\ndata: {}\n\n")[0]?.id).toBe("5-5");
  });
});
