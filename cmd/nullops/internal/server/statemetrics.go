package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/instrument"
)

const (
	// countEvery bounds the queries, however often metrics are scraped. Certificates have to be
	// decoded for the day on which they end, which is read less often.
	countEvery       = 10 * time.Second
	certificateEvery = 5 * time.Minute
	countWithin      = 3 * time.Second
	// endedLag is for transactions that were not committed yet when their rows got their time.
	endedLag = 5 * time.Second
	// mostReasons bounds the label of failures, which agents choose the codes of.
	mostReasons = 60
)

// stateMetrics shows what is in the database, and counts what ended since it last looked. Every
// control plane shows the same.
type stateMetrics struct {
	store   *postgres.Store
	metrics *metrics

	mu           sync.Mutex
	counts       postgres.Counts
	nodes        []postgres.NodeFigures
	certificates []certificateFigure
	read, opened time.Time
	// ended is how far runs that ended were counted, by the database's clock.
	ended   time.Time
	reasons map[string]bool
	skew    time.Duration
}

// certificateFigure is when the first certificate of a source and an environment ends.
type certificateFigure struct {
	source, environment string
	end                 time.Time
	failing             int
}

// watchState adds them to the others.
func (m *metrics) watchState(store *postgres.Store) {
	newMetricsOfState(store, m)
}

func newMetricsOfState(store *postgres.Store, m *metrics) *stateMetrics {
	s := &stateMetrics{store: store, metrics: m, reasons: map[string]bool{}}
	m.WatchAll(s.put, instrument.Runs, instrument.Deployments, instrument.Nodes,
		instrument.QueueLength, instrument.QueueOldest, instrument.Degraded, instrument.Leases,
		instrument.NoticesWaiting, instrument.NoticesOldest, instrument.DeliveriesWaiting,
		instrument.DatabaseSize, instrument.DatabaseLocks, instrument.DatabaseOldest,
		instrument.AuditEntries, instrument.BackupAt, instrument.BackupFailed,
		instrument.JobFailures, instrument.Servers, instrument.Alerts, instrument.ClockSkew,
		instrument.NodeCPU, instrument.NodeCPUUsed, instrument.NodeMemory,
		instrument.NodeMemoryUsed, instrument.NodeDisk, instrument.NodeDiskFree,
		instrument.NodeImages, instrument.NodeImagesFreed, instrument.NodeVitalsAge,
		instrument.NodeChecks, instrument.CertificateEnd, instrument.CertificateFailures)
	return s
}

// put puts all numbers. A database that does not answer leaves them out, rather than telling old
// ones.
func (s *stateMetrics) put(r instrument.Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refreshLocked(); err != nil {
		return
	}
	c := s.counts
	for _, status := range controlplane.DeploymentStatuses() {
		r.Put(instrument.Runs, float64(c.Runs[status]), string(status))
		if !status.IsGone() {
			r.Put(instrument.Deployments, float64(c.Deployments[status]), string(status))
		}
	}
	for _, status := range controlplane.NodeStatuses() {
		r.Put(instrument.Nodes, float64(c.Nodes[status]), string(status))
	}
	for job, n := range c.JobFailures {
		r.Put(instrument.JobFailures, float64(n), job)
	}
	for _, role := range []controlplane.ProcessRole{controlplane.RoleControlPlane,
		controlplane.RoleIngress} {
		r.Put(instrument.Servers, float64(c.Processes[role]), string(role))
	}
	for _, a := range c.Alerts {
		r.Put(instrument.Alerts, float64(a.N), a.Condition, string(a.Severity))
	}
	s.putInstallation(r, c)
	for _, n := range s.nodes {
		putNode(r, n)
	}
	for _, f := range s.certificates {
		if !f.end.IsZero() {
			r.Put(instrument.CertificateEnd, float64(f.end.Unix()), f.source, f.environment)
		}
		if f.source == "acme" {
			r.Put(instrument.CertificateFailures, float64(f.failing), f.environment)
		}
	}
}

func (s *stateMetrics) putInstallation(r instrument.Reading, c postgres.Counts) {
	r.Put(instrument.QueueLength, float64(c.Waiting))
	r.Put(instrument.QueueOldest, c.QueueOldest.Seconds())
	r.Put(instrument.Degraded, float64(c.Degraded))
	r.Put(instrument.Leases, float64(c.LeasesHeld), "held")
	r.Put(instrument.Leases, float64(c.LeasesExpired), "expired")
	r.Put(instrument.NoticesWaiting, float64(c.Notices))
	r.Put(instrument.NoticesOldest, c.NoticesOldest.Seconds())
	r.Put(instrument.DeliveriesWaiting, float64(c.Deliveries))
	r.Put(instrument.DatabaseSize, float64(c.DatabaseSize))
	r.Put(instrument.DatabaseLocks, float64(c.LocksWaiting))
	r.Put(instrument.DatabaseOldest, c.OldestTransaction.Seconds())
	r.Put(instrument.AuditEntries, float64(c.AuditEntries))
	r.Put(instrument.ClockSkew, s.skew.Seconds())
	failed := 0.0
	if c.BackupFailed {
		failed = 1
	}
	r.Put(instrument.BackupFailed, failed)
	if !c.BackupAt.IsZero() {
		r.Put(instrument.BackupAt, float64(c.BackupAt.Unix()))
	}
}

func putNode(r instrument.Reading, n postgres.NodeFigures) {
	for name, value := range map[string]float64{
		instrument.NodeCPU: n.CPU, instrument.NodeCPUUsed: n.CPUUsed,
		instrument.NodeMemory: float64(n.Memory), instrument.NodeMemoryUsed: float64(n.MemoryUsed),
		instrument.NodeDisk: float64(n.Disk), instrument.NodeDiskFree: float64(n.DiskFree),
		instrument.NodeImages: float64(n.Images), instrument.NodeImagesFreed: float64(n.Freed),
		instrument.NodeVitalsAge: n.Age.Seconds(),
	} {
		r.Put(name, value, n.Environment, n.Name)
	}
	r.Put(instrument.NodeChecks, float64(n.Critical), n.Environment, n.Name,
		string(controlplane.SeverityCritical))
	r.Put(instrument.NodeChecks, float64(n.Warning), n.Environment, n.Name,
		string(controlplane.SeverityWarning))
}

func (s *stateMetrics) refreshLocked() error {
	if time.Since(s.read) < countEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	var ended []postgres.EndedRuns
	var waits []time.Duration
	var until time.Time
	certificates, opened := s.certificates, s.opened
	err := s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		asked := time.Now()
		if s.counts, err = tx.Metrics().Count(ctx); err != nil {
			return err
		}
		s.skew = asked.Sub(s.counts.DatabaseTime)
		if until = s.counts.DatabaseTime.Add(-endedLag); !s.ended.IsZero() {
			if ended, waits, err = tx.Metrics().ListEnded(ctx, s.ended, until); err != nil {
				return err
			}
		}
		if s.nodes, err = tx.Metrics().ListNodes(ctx); err != nil {
			return err
		}
		if time.Since(opened) >= certificateEvery {
			certificates, err = listCertificateFigures(ctx, tx)
			opened = time.Now()
		}
		return err
	})
	if err != nil {
		return err
	}
	s.read, s.ended, s.certificates, s.opened = time.Now(), until, certificates, opened
	s.countEnded(ended, waits)
	return nil
}

// countEnded counts what ended since the last look.
func (s *stateMetrics) countEnded(ended []postgres.EndedRuns, waits []time.Duration) {
	for _, e := range ended {
		s.metrics.Add(instrument.RunsEnded, float64(e.N), string(e.Outcome), s.reasonLabel(e.Reason))
	}
	for _, w := range waits {
		s.metrics.Observe(context.Background(), instrument.QueueWaits, w)
	}
}

func (s *stateMetrics) reasonLabel(code string) string {
	known := s.reasons[code] || len(s.reasons) < mostReasons
	if !known || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_-") != "" || len(code) > 40 {
		return "other"
	}
	s.reasons[code] = true
	return code
}

// listCertificateFigures finds the certificate that ends first, of each source and environment.
func listCertificateFigures(
	ctx context.Context, tx *postgres.Tx,
) ([]certificateFigure, error) {
	first := map[[2]string]*certificateFigure{}
	add := func(source, environment string, end time.Time, failing bool) {
		f := first[[2]string{source, environment}]
		if f == nil {
			f = &certificateFigure{source: source, environment: environment}
			first[[2]string{source, environment}] = f
		}
		if !end.IsZero() && (f.end.IsZero() || end.Before(f.end)) {
			f.end = end
		}
		if failing {
			f.failing++
		}
	}
	uploaded, err := tx.Certificates().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range uploaded {
		add("uploaded", "", c.NotAfter, false)
	}
	authority, ok, err := tx.Certificates().GetAuthority(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		add("authority", "", authority.NotAfter, false)
	}
	names := map[controlplane.EnvironmentID]string{}
	zones, err := tx.ACME().ListZones(ctx)
	if err != nil {
		return nil, err
	}
	for _, z := range zones {
		names[z.Environment] = z.Name
	}
	ordered, err := tx.ACME().ListCertificates(ctx, "")
	for _, c := range ordered {
		if c.Wanted {
			add("acme", names[c.Environment], c.NotAfter, c.Error != "")
		}
	}
	all := make([]certificateFigure, 0, len(first))
	for _, f := range first {
		all = append(all, *f)
	}
	return all, err
}
