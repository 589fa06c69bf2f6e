/** Says that a project or an environment that was named cannot be taken; above are those that can. */
export function PlaceNotice({ problems }: { problems: string[] }) {
  return problems.map((problem) => (
    <div key={problem} className="box" data-st="warn" role="alert">
      {problem}
    </div>
  ));
}
