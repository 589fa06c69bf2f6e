package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/usage"
)

func (s *server) GetNodeMetrics(
	ctx context.Context, r GetNodeMetricsRequestObject,
) (GetNodeMetricsResponseObject, error) {
	p := r.Params
	all, err := s.Usage.NodeUsage(ctx, actorOf(ctx), r.Name, usageQuery(p.From, p.To, p.Resolution))
	if err != nil {
		return nil, err
	}
	return GetNodeMetrics200JSONResponse(toMetrics(all)), nil
}

func (s *server) GetDeploymentMetrics(
	ctx context.Context, r GetDeploymentMetricsRequestObject,
) (GetDeploymentMetricsResponseObject, error) {
	p := r.Params
	all, err := s.Usage.DeploymentUsage(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		usageQuery(p.From, p.To, p.Resolution))
	if err != nil {
		return nil, err
	}
	return GetDeploymentMetrics200JSONResponse(toMetrics(all)), nil
}

func usageQuery(from, to *time.Time, width *MetricsResolution) usage.Query {
	q := usage.Query{From: valueOr(from, time.Time{}), To: valueOr(to, time.Time{})}
	if width != nil {
		q.Width = new(resolutionWidths()[*width])
	}
	return q
}

func resolutionWidths() map[MetricsResolution]time.Duration {
	return map[MetricsResolution]time.Duration{MetricsResolutionRaw: usage.Raw,
		MetricsResolutionMinute: usage.Minutely, MetricsResolutionHour: usage.Hourly}
}

// toMetrics makes curves of rows, which come by step and time.
func toMetrics(all usage.Series) Metrics {
	out := Metrics{From: all.From, To: all.To, Series: []MetricSeries{}}
	for name, width := range resolutionWidths() {
		if width == all.Width {
			out.Resolution = name
		}
	}
	for i, u := range all.Rows {
		if i == 0 || u.Step != all.Rows[i-1].Step {
			out.Series = append(out.Series, MetricSeries{Step: ptrOrNil(string(u.Step)),
				Points: []MetricPoint{}})
		}
		last := &out.Series[len(out.Series)-1]
		last.Points = append(last.Points, metricPoint(u))
	}
	return out
}

// metricPoint divides sums by their count: means, beside the peaks.
func metricPoint(u controlplane.UsageSum) MetricPoint {
	n := float64(max(1, u.Count))
	p := MetricPoint{At: u.At, Cpu: u.CPU / n, CpuMax: u.CPUMax, Memory: int64(u.Memory / n),
		MemoryMax: u.MemoryMax, NetIn: u.Flow.NetIn / n, NetOut: u.Flow.NetOut / n,
		DiskRead: u.Flow.DiskRead / n, DiskWritten: u.Flow.DiskWritten / n}
	if u.Step == "" {
		p.DiskFree = &u.DiskFree
	}
	return p
}
