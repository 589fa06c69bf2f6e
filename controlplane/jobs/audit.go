package jobs

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/audit"
)

const (
	verifyEvery = time.Hour
	cutEvery    = 6 * time.Hour
)

// VerifyAudit verifies the audit, at the start and every hour. It logs the chain's
// head each time, so that logs collected elsewhere prove later changes. An audit that was
// tampered with is a failure, so that webhooks are told.
func VerifyAudit(journal *audit.Log, log *slog.Logger) Job {
	return Job{Name: "verify_audit", Every: verifyEvery, Do: func(ctx context.Context) error {
		v, err := journal.Verify(ctx, access.System("verify-audit"))
		if err != nil {
			return err
		}
		for _, f := range v.Findings {
			log.ErrorContext(ctx, "the audit was tampered with", "entry", f.Seq,
				"detail", f.Problem)
		}
		log.InfoContext(ctx, "audit verified", "entries", v.Entries, "findings", len(v.Findings),
			"head", v.Head, "link", hex.EncodeToString(v.HeadLink[:]))
		if len(v.Findings) > 0 {
			return fmt.Errorf("the audit was tampered with: entry %d: %s (findings: %d)",
				v.Findings[0].Seq, v.Findings[0].Problem, len(v.Findings))
		}
		return nil
	}}
}

// CutAudit deletes entries older than keep, and leaves a checkpoint.
func CutAudit(journal *audit.Log, keep time.Duration, log *slog.Logger) Job {
	return Job{Name: "cut_audit", Every: cutEvery, Do: func(ctx context.Context) error {
		gone, err := journal.DeleteBefore(ctx, access.System("cut-audit"), time.Now().Add(-keep))
		if gone > 0 {
			log.InfoContext(ctx, "audit cut", "count", gone, "older_than", keep)
		}
		return err
	}}
}
