package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// VolumeCopier is a Runtime that can read and write whole volumes, as tar streams that keep
// owners, modes, links and times. Writing a volume replaces it: its former contents are
// lost.
type VolumeCopier interface {
	// VolumeBytes is what a deployment's volumes take together.
	VolumeBytes(ctx context.Context, deployment string) (int64, error)
	// ReadVolume streams one; an error of the stream means that it is not whole.
	ReadVolume(ctx context.Context, v VolumeName) (io.ReadCloser, error)
	// WriteVolume returns once everything is written.
	WriteVolume(ctx context.Context, v VolumeName, from io.Reader) error
}

// VolumeName is one volume of one service, or, without a service, one that the
// services of a deployment share.
type VolumeName struct {
	Deployment string
	Service    pipeline.StepKey
	Name       string
}

// NameVolume says which volume a service of a deployment means.
func NameVolume(deployment string, service pipeline.StepKey, v pipeline.Volume) VolumeName {
	if v.Shared != "" {
		return VolumeName{Deployment: deployment, Name: v.Shared}
	}
	return VolumeName{Deployment: deployment, Service: service, Name: v.Name}
}

// copyableVolumes is what a request for a deployment's volumes works with.
type copyableVolumes struct {
	carrier VolumeCopier
	goal    *wire.Goal
	still   int64
}

// volumeServer copies volumes for a control plane that moves a deployment.
type volumeServer struct {
	*base
	lister *lister
	mu     sync.Mutex
	// writing has a channel for each deployment whose volumes are written; it is closed
	// at the end.
	writing map[string]chan struct{}
}

// findCopyable finds the goal for a request; if its volumes cannot be copied, it writes the
// error response and returns false.
func (vs *volumeServer) findCopyable(
	w http.ResponseWriter, r *http.Request,
) (c copyableVolumes, ok bool) {
	c.carrier, ok = vs.runtime.(VolumeCopier)
	if !ok {
		http.Error(w, "this node's engine cannot copy volumes", http.StatusNotImplemented)
		return c, false
	}
	v, ok := vs.viewOf(r.PathValue("id"))
	if !ok || v.goal == nil || v.goal.Want != wire.WantPresent {
		http.Error(w, "no such deployment on this node", http.StatusNotFound)
		return c, false
	}
	c.goal = v.goal
	return c, true
}

// findVolume returns the volume that a service knows by a name, unless it stays on its node.
func (c copyableVolumes) findVolume(service pipeline.StepKey, name string) (VolumeName, bool) {
	step, ok := c.goal.Pipeline.Step(service)
	container := step.Container()
	if !ok || container == nil {
		return VolumeName{}, false
	}
	for _, v := range container.Volumes {
		if v.Name == name {
			return NameVolume(c.goal.Deployment, service, v), !v.Stays
		}
	}
	return VolumeName{}, false
}

// quiescedAt returns the operation number at which the deployment was quiesced (see
// engine.Machine), or 0 if a service runs or may start. It also asks the engine, which may
// have completed an earlier request late.
func (vs *volumeServer) quiescedAt(ctx context.Context, deployment string) (int64, error) {
	v, _ := vs.viewOf(deployment)
	if v.still == 0 {
		return 0, nil
	}
	objects, err := vs.runtime.List(ctx)
	if err != nil || slices.ContainsFunc(objects, func(o Object) bool {
		return o.Deployment == deployment && o.Kind == KindService && o.Running
	}) {
		return 0, err
	}
	return v.still, nil
}

// sweepCopies removes what a killed agent left of its volume copies, before new copies
// begin.
func (li *lister) sweepCopies(ctx context.Context, objects []Object) {
	for _, o := range objects {
		if o.Kind != KindCopy {
			continue
		}
		if err := li.runtime.Remove(ctx, o); err != nil {
			li.log.Warn("what is left of a copy cannot be removed", "error", err)
		}
	}
	close(li.swept)
}

func (vs *volumeServer) serveVolumes(w http.ResponseWriter, r *http.Request) {
	c, ok := vs.findCopyable(w, r)
	if !ok {
		return
	}
	var s wire.VolumesState
	still, err := vs.quiescedAt(r.Context(), c.goal.Deployment)
	if s.Still = still != 0; s.Still {
		v, _ := vs.viewOf(c.goal.Deployment)
		s.Stopped = v.stopped
	}
	if err == nil && r.URL.Query().Has(wire.QueryMeasure) {
		s.Bytes, err = c.carrier.VolumeBytes(r.Context(), c.goal.Deployment)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answerJSON(w, s)
}

// volumeUse is what a request does with a volume.
type volumeUse int

const (
	// readQuiesced reads what no service can change meanwhile, readRunning what some may.
	readQuiesced volumeUse = iota
	readRunning
	replaceVolume
)

// allows reports whether the goal allows it: reading where the deployment is, and replacing
// where a copy is announced. still is 0 while a service runs or may start.
func (c copyableVolumes) allows(use volumeUse, still int64) bool {
	switch use {
	case readQuiesced:
		return still != 0 && !c.goal.Elsewhere
	case readRunning:
		// Nothing is read while another copy writes.
		return !c.goal.Elsewhere && c.goal.Attempt == ""
	default:
		return still != 0 && (c.goal.Elsewhere || c.goal.Attempt != "")
	}
}

// findVolume finds the requested volume if the goal allows this use of it.
func (vs *volumeServer) findVolume(w http.ResponseWriter, r *http.Request, use volumeUse) (
	c copyableVolumes, v VolumeName, ok bool) {
	if c, ok = vs.findCopyable(w, r); !ok {
		return c, v, false
	}
	v, ok = c.findVolume(pipeline.StepKey(r.PathValue("key")), r.PathValue("name"))
	if !ok {
		http.Error(w, "the service has no such volume", http.StatusNotFound)
		return c, v, false
	}
	select {
	case <-vs.lister.swept:
	case <-r.Context().Done():
		return c, v, false
	}
	still, err := vs.quiescedAt(r.Context(), c.goal.Deployment)
	if c.still = still; err != nil || !c.allows(use, still) {
		http.Error(w, "the volume may be in use", http.StatusConflict)
		return c, v, false
	}
	return c, v, true
}

func (vs *volumeServer) serveReadVolume(w http.ResponseWriter, r *http.Request) {
	use := readQuiesced
	if r.URL.Query().Has(wire.QueryRunning) {
		use = readRunning
	}
	c, v, ok := vs.findVolume(w, r, use)
	if !ok {
		return
	}
	content, err := c.carrier.ReadVolume(r.Context(), v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = content.Close() }()
	w.Header().Set("Trailer", wire.TrailerSum)
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, sum), content)
	still, asked := vs.quiescedAt(r.Context(), v.Deployment)
	if err == nil && still != c.still && use == readQuiesced {
		err = cmp.Or(asked, errors.New("the deployment did not stay still"))
	}
	if err != nil {
		vs.log.Warn("a volume could not be read to its end", "deployment_id", v.Deployment,
			"step", v.Service, "volume", v.Name, "error", err)
		// The other end must not take what it has for all.
		panic(http.ErrAbortHandler)
	}
	w.Header().Set(wire.TrailerSum, hex.EncodeToString(sum.Sum(nil)))
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
