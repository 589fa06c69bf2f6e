import { useState } from "react";
import { Select } from "@/components/Select";
import { StatusMark } from "@/components/Status";
import { TagError, TagFooter } from "@/components/TagFooter";
import { TagList } from "@/components/TagList";
import { TagPicker } from "@/components/TagPicker";
import { galleryTexts as t } from "@/pages/components/galleryTexts";
import { deployTexts } from "@/pages/deployTexts";
import { useVersions, Versions } from "../create/Versions";
import { Acted, look } from "./Acted";
import { refusal, shop, tagList } from "./examples";
import { Part, Shown } from "./Part";

const nothing = () => {};

/** A version: chosen, none yet, refused; opened, it has tags, no tags, or is still being read. */
export function TagPickers() {
  const [tag, setTag] = useState("v1.2.0");
  return (
    <Part title={t.sections.tags}>
      <TagPicker service="shop-web" step={t.pickers.chosen} value={tag} onChange={setTag} />
      <TagPicker service="shop-web" step={t.pickers.none} value="" onChange={nothing} />
      <TagPicker service="nothing" step={t.pickers.refused} value="v0" invalid onChange={nothing} />
      <TagPicker service="unread" step={t.pickers.reading} value="v0" onChange={nothing} />
      <Acted className="col" act={look(".in", "focus")}>
        <TagPicker service="shop-web" step={t.looks.focus} value={tag} onChange={setTag} />
      </Acted>
      <Matched />
      <List />
    </Part>
  );
}

/** One branch for all: which service has a build of it, which took its default, and one that is pinned. */
function Matched() {
  return (
    <Shown name={t.pickers.branch}>
      <Versions
        project={shop}
        versions={useVersions(shop, {}, { web: "feat-cart-redesign-51d0e7b" })}
        refused={{}}
        changed={nothing}
      />
      <div className="col gap-1 s">
        <StatusMark state="ready">{deployTexts.branch.all("feat/cart-redesign")}</StatusMark>
        <StatusMark state="warn">
          {deployTexts.branch.stays("api", "v1.2.0")}{" "}
          {deployTexts.branch.lacks("feat/cart-redesign")}
        </StatusMark>
      </div>
    </Shown>
  );
}

/** What an open picker holds, without its window. */
function List() {
  const [active, setActive] = useState(1);
  const reason = t.examples.registryDown;
  return (
    <div className="picker w-full">
      <TagList
        id="gallery"
        label={t.sections.tags}
        busy={false}
        items={tagList.items}
        search="v1"
        value="v1.1.0"
        active={active}
        setActive={setActive}
        choose={nothing}
      />
      <TagError what={t.unreadTags} error={refusal} retry={nothing} />
      <TagFooter list={tagList} refresh={nothing} busy={false} />
      <TagFooter list={tagList} refresh={nothing} busy />
      <TagFooter
        list={{ ...tagList, stale: true, stale_reason: reason }}
        refresh={nothing}
        busy={false}
      />
    </div>
  );
}

/** One of a few: chosen, not yet, small, with more said of each. */
export function Selects() {
  const [value, setValue] = useState("qa-eu");
  const options = [
    { value: "qa-eu", label: "qa-eu", detail: t.examples.nodes },
    { value: "qa-us", label: "qa-us", detail: t.examples.nodes },
  ];
  const common = { label: t.field, options, placeholder: t.choose };
  return (
    <Part title={t.sections.select}>
      <div className="row flex-wrap">
        <Shown name={t.pickers.chosen}>
          <Select {...common} value={value} onChange={setValue} />
        </Shown>
        <Shown name={t.pickers.none}>
          <Select {...common} value={null} onChange={setValue} />
        </Shown>
        <Shown name={t.looks.focus}>
          <Acted act={look("button", "focus")}>
            <Select {...common} value={value} onChange={setValue} />
          </Acted>
        </Shown>
        <Shown name={t.pickers.small}>
          <Select {...common} value={value} onChange={setValue} small />
        </Shown>
      </div>
    </Part>
  );
}
