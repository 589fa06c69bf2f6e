import { Button } from "@/components/Button";
import { texts } from "@/texts";

/** Lets what was held go to its place. It lies over the list: where it came, rows would move. */
export function MovedNotice({ count, settle }: { count: number; settle: () => void }) {
  if (count === 0) return null;
  return (
    <div className="moved">
      <Button act={texts.list.moved(count)} small onClick={settle}>
        {texts.list.moved(count)}
      </Button>
    </div>
  );
}
