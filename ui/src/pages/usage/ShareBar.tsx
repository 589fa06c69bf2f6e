type Props = { share: number; label: string; full?: boolean };

/** A part of a whole as a bar; what it shows is said in words beside it. */
export function ShareBar({ share, label, full }: Props) {
  const width = Math.min(100, Math.max(0, share * 100));
  return (
    <div className="meter grow">
      <svg
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        data-full={full || undefined}
      >
        <title>{label}</title>
        <rect className="all" width="100" height="6" />
        <rect className="used" width={width} height="6" />
      </svg>
    </div>
  );
}
