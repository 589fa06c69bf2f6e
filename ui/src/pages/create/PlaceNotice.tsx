/** Says that a project or an environment cannot be taken; above are those that can. */
export function PlaceNotice({ problems }: { problems: (string | undefined)[] }) {
  return problems.filter(Boolean).map((problem) => (
    <div key={problem} className="box" data-st="warn" role="alert">
      {problem}
    </div>
  ));
}
