import { svgPath } from "./curve";

const WIDTH = 72;
const HEIGHT = 18;

type Props = { values: (number | null)[]; most: number; label: string };

/** A curve the size of a word. What it shows is said in words too. */
export function Sparkline({ values, most, label }: Props) {
  return (
    <svg className="spark" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <title>{label}</title>
      <path d={svgPath(values, most, WIDTH, HEIGHT - 2)} transform="translate(0 1)" />
    </svg>
  );
}
