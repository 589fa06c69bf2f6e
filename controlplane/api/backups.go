package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListBackups(
	ctx context.Context, _ ListBackupsRequestObject,
) (ListBackupsResponseObject, error) {
	all, err := s.Backups.ListRecords(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	out := ListBackups200JSONResponse{Items: convertAll(all, toBackup)}
	if b := s.Backups; b.Target != nil {
		out.Schedule = &BackupSchedule{Target: b.Target.String(),
			EveryHours: int(b.Every / time.Hour), Keep: b.Keep}
	}
	return out, nil
}

func toBackup(b controlplane.BackupRecord) Backup {
	return Backup{At: b.At, Name: ptrOrNil(b.Name), Bytes: ptrOrNil(b.Bytes),
		VerifiedAt: b.VerifiedAt, Error: ptrOrNil(b.Error)}
}

func (s *server) StartBackup(
	ctx context.Context, _ StartBackupRequestObject,
) (StartBackupResponseObject, error) {
	if err := s.Backups.StartNow(ctx, actorOf(ctx)); err != nil {
		return nil, err
	}
	return StartBackup202Response{}, nil
}
