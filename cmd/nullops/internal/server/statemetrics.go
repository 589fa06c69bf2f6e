package server

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// countEvery bounds the queries, however often metrics are scraped.
	countEvery  = 10 * time.Second
	countWithin = 3 * time.Second
)

// stateMetrics shows what is in the database: runs by how they ended, the nodes'
// links, and the queue. Every control plane shows the same.
type stateMetrics struct {
	store                          *postgres.Store
	runs, nodes, waiting, degraded *prometheus.Desc

	mu     sync.Mutex
	counts postgres.Counts
	read   time.Time
}

var _ prometheus.Collector = (*stateMetrics)(nil)

// watchState adds them to the others.
func (m *metrics) watchState(store *postgres.Store) {
	m.registry.MustRegister(newMetricsOfState(store))
}

func newMetricsOfState(store *postgres.Store) *stateMetrics {
	return &stateMetrics{store: store,
		runs:    prometheus.NewDesc("nullops_runs", "Runs by status.", []string{"status"}, nil),
		nodes:   prometheus.NewDesc("nullops_nodes", "Nodes by link state.", []string{"status"}, nil),
		waiting: prometheus.NewDesc("nullops_queue_length", "Runs that wait.", nil, nil),
		degraded: prometheus.NewDesc("nullops_deployments_degraded",
			"Ready deployments with services that do not work.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (s *stateMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- s.runs
	to <- s.nodes
	to <- s.waiting
	to <- s.degraded
}

// Collect implements prometheus.Collector. A database that does not answer
// leaves the numbers out, rather than telling old ones.
func (s *stateMetrics) Collect(to chan<- prometheus.Metric) {
	c, err := s.readCounts()
	if err != nil {
		return
	}
	for _, status := range controlplane.DeploymentStatuses() {
		to <- prometheus.MustNewConstMetric(s.runs, prometheus.GaugeValue,
			float64(c.Runs[status]), string(status))
	}
	for _, status := range controlplane.NodeStatuses() {
		to <- prometheus.MustNewConstMetric(s.nodes, prometheus.GaugeValue,
			float64(c.Nodes[status]), string(status))
	}
	to <- prometheus.MustNewConstMetric(s.waiting, prometheus.GaugeValue, float64(c.Waiting))
	to <- prometheus.MustNewConstMetric(s.degraded, prometheus.GaugeValue, float64(c.Degraded))
}

func (s *stateMetrics) readCounts() (postgres.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) < countEvery {
		return s.counts, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	err := s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		s.counts, err = tx.Metrics().Count(ctx)
		return err
	})
	if err == nil {
		s.read = time.Now()
	}
	return s.counts, err
}
