package lifecycle

import (
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

// mustAsk reports whether a node has to be asked before the deployment can go there.
func mustAsk(n Candidate, ask ResourceRequest) bool {
	return n.Settings.Reactive && n.ID != ask.Claimed
}

// declinedPrefix begins the reasons of nodes that were asked.
const declinedPrefix = "It declined"

// offerReason returns why a node that has to be asked cannot take the request, or "".
func offerReason(n Candidate, ask ResourceRequest) string {
	reason, declined := ask.Declined[n.ID]
	switch {
	case n.ID == ask.Claimed:
		return ""
	case declined && reason == "":
		return declinedPrefix + " without a reason."
	case declined:
		return declinedPrefix + ": " + endSentence(reason)
	case n.Settings.Reactive && ask.NoQuestions:
		return "It has to be asked first, and there was no time for that; try again."
	}
	return ""
}

// isDecline reports whether the node was asked and did not take the deployment.
func (r NodeRefusal) isDecline() bool { return strings.HasPrefix(r.Reason, declinedPrefix) }

// isPassing reports whether the node has room once others that are there end or rest: nobody has to
// do anything for that.
func (r NodeRefusal) isPassing() bool { return r.Class == "busy" || r.Class == "runs" }

// askingReason is what a queued run waits for while a node is asked.
func askingReason(node string) string {
	return "Node " + node + " is asked whether it takes it."
}

// PendingOffer is the node that a queued run is offered to, or that has claimed it.
type PendingOffer struct {
	ID, Node, Name string
	Claimed        bool
	// GPUs are those that are reserved there for the run.
	GPUs []string
}

// LostClaim is a claim whose node cannot take the run any more.
type LostClaim struct {
	PendingOffer
	Reason string
}

// withOffer adds to a queued run what a node answered, or that it is asked.
func (w *QueuedRun) withOffer(o controlplane.Offer) {
	switch {
	case o.Status.IsPending() && !o.Expired:
		w.Offer = &PendingOffer{ID: string(o.ID), Node: string(o.NodeID), Name: o.Node,
			Claimed: o.Status == controlplane.OfferClaimed, GPUs: o.GPUs}
	case o.Status.IsPending():
		w.decline(o.NodeID, expiredReason(o.Status))
	case o.Status == controlplane.OfferDeclined && !o.Due:
		w.decline(o.NodeID, o.Reason)
	}
}

func (w *QueuedRun) decline(node controlplane.NodeID, reason string) {
	if w.Ask.Declined == nil {
		w.Ask.Declined = map[string]string{}
	}
	w.Ask.Declined[string(node)] = reason
}

// expiredReason is why an offer counts as declined whose time is over.
func expiredReason(s controlplane.OfferStatus) string {
	if s == controlplane.OfferClaimed {
		return "its claim ended before the deployment could be placed"
	}
	return "the offer was not answered within " + quantity.FormatDuration(offerWithin)
}

// describeOffer is what the site is told of a deployment.
func describeOffer(d controlplane.Deployment, user string, p pipeline.Pipeline,
	ask ResourceRequest) controlplane.OfferedDeployment {
	o := controlplane.OfferedDeployment{Name: d.Name, Project: d.Project,
		Environment: d.Environment, User: user, CPU: ask.CPU, MemoryMiB: ask.MemoryMiB,
		GPUs: ask.GPUs, GPUIDs: ask.GPUIDs, GPUMemoryMiB: ask.VRAMMiB, Images: []string{}}
	o.Labels = append(append(o.Labels, ask.Placement.Required...), ask.Required...)
	for _, v := range listVersions(p) {
		o.Images = append(o.Images, v.Image+":"+v.Tag)
	}
	return o
}

// newOffer asks a node, and reserves there what the deployment needs.
func newOffer(node Candidate, ask ResourceRequest, what controlplane.OfferedDeployment,
) controlplane.Offer {
	gpus, _ := gpusOf(node, ask, node.Taken)
	return controlplane.Offer{ID: controlplane.NewID[controlplane.OfferID](), Node: node.Name,
		NodeID: controlplane.NodeID(node.ID), Status: controlplane.OfferOpen, Deployment: what,
		Reserved: ask.Resources, GPUs: gpus, VRAMMiB: ask.VRAMMiB, Within: offerWithin}
}
