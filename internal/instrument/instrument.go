// Package instrument declares every metric of NullOps in one list, and counts them.
//
// docs/observability.md and the checks of names are made from the list, so a metric that is
// not in it cannot be counted: that is a fault of the program, and panics. Labels are bounded:
// they are words of ours (an operation, a status class), or names that only admins give (an
// environment, a node). Names of hosts, deployments, tags and branches never become labels.
package instrument

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Set counts the metrics of one process. It is safe for concurrent use.
type Set struct {
	registry   *prometheus.Registry
	declared   map[string]Metric
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
	// watched are those whose numbers are read at each scrape.
	watched map[string]bool
	traceID func(context.Context) string
}

// New makes a set that counts from zero and collects into the registry. traceID names the
// sampled trace of a context, for exemplars; it may be nil.
func New(registry *prometheus.Registry, traceID func(context.Context) string) *Set {
	s := &Set{registry: registry, declared: map[string]Metric{}, traceID: traceID,
		counters:   map[string]*prometheus.CounterVec{},
		histograms: map[string]*prometheus.HistogramVec{}, watched: map[string]bool{}}
	for _, m := range Declared() {
		s.declared[m.Name] = m
		switch {
		case m.Read:
		case m.Kind == Counter:
			s.counters[m.Name] = prometheus.NewCounterVec(
				prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
			registry.MustRegister(s.counters[m.Name])
		case m.Kind == Histogram:
			s.histograms[m.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: m.Name, Help: m.Help, Buckets: m.Buckets}, m.Labels)
			registry.MustRegister(s.histograms[m.Name])
		}
	}
	return s
}

// Registry is where the set is collected.
func (s *Set) Registry() *prometheus.Registry { return s.registry }

// Count adds one to a counter.
func (s *Set) Count(name string, labels ...string) { s.Add(name, 1, labels...) }

// Add adds to a counter.
func (s *Set) Add(name string, n float64, labels ...string) {
	vec := s.counters[name]
	if vec == nil {
		panic(notDeclared(name, Counter))
	}
	vec.WithLabelValues(labels...).Add(n)
}

// Observe adds a duration to a histogram, with the trace of ctx as its exemplar.
func (s *Set) Observe(ctx context.Context, name string, took time.Duration, labels ...string) {
	vec := s.histograms[name]
	if vec == nil {
		panic(notDeclared(name, Histogram))
	}
	one := vec.WithLabelValues(labels...)
	if s.traceID != nil {
		if id := s.traceID(ctx); id != "" {
			one.(prometheus.ExemplarObserver).ObserveWithExemplar(took.Seconds(),
				prometheus.Labels{"trace_id": id})
			return
		}
	}
	one.Observe(took.Seconds())
}

// Watch collects a number that read returns at each scrape: a gauge, or a counter that
// something else counts.
func (s *Set) Watch(name string, read func() float64) {
	m, ok := s.declared[name]
	if !ok || !m.Read || len(m.Labels) > 0 {
		panic(notDeclared(name, Gauge))
	}
	s.watched[name] = true
	if m.Kind == Counter {
		s.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: m.Help}, read))
		return
	}
	s.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: name, Help: m.Help}, read))
}

// Reading is what a Reader found: Put adds one number.
type Reading struct {
	set *Set
	to  chan<- prometheus.Metric
}

// Put adds the number of a metric that the reader announced.
func (r Reading) Put(name string, value float64, labels ...string) {
	m, ok := r.set.declared[name]
	if !ok || !m.Read {
		panic(notDeclared(name, Gauge))
	}
	kind := prometheus.GaugeValue
	if m.Kind == Counter {
		kind = prometheus.CounterValue
	}
	r.to <- prometheus.MustNewConstMetric(m.desc(), kind, value, labels...)
}

// WatchAll collects what read puts at each scrape: the named metrics, and no others.
func (s *Set) WatchAll(read func(Reading), names ...string) {
	c := collector{set: s, read: read}
	for _, name := range names {
		m, ok := s.declared[name]
		if !ok || !m.Read {
			panic(notDeclared(name, Gauge))
		}
		s.watched[name] = true
		c.descs = append(c.descs, m.desc())
	}
	s.registry.MustRegister(c)
}

// Unwatched lists the declared metrics that nothing reads in this process.
func (s *Set) Unwatched() (names []string) {
	for _, m := range Declared() {
		if m.Read && !s.watched[m.Name] {
			names = append(names, m.Name)
		}
	}
	return names
}

type collector struct {
	set   *Set
	read  func(Reading)
	descs []*prometheus.Desc
}

var _ prometheus.Collector = collector{}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) { c.read(Reading{set: c.set, to: to}) }

func (m Metric) desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

func notDeclared(name string, kind Kind) string {
	return fmt.Sprintf("%s is not declared as a %s in internal/instrument/declared.go", name, kind)
}
