package controlplane

import (
	"slices"
	"time"

	"github.com/nullops/nullops/internal/text"
	"github.com/nullops/nullops/pipeline"
)

// OfferID names one question to one node. It is new each time that a node is asked.
type OfferID string

// OfferStatus is where an offer to a reactive node stands.
//
//	open ─▶ claimed ─▶ taken      the deployment went there
//	  │        │
//	  └────────┴─────▶ declined ─▶ open   asked again later, under a new id
//
// Open and claimed offers are withdrawn when nobody waits for the node any more.
type OfferStatus string

// The statuses.
const (
	OfferOpen      OfferStatus = "open"
	OfferClaimed   OfferStatus = "claimed"
	OfferDeclined  OfferStatus = "declined"
	OfferTaken     OfferStatus = "taken"
	OfferWithdrawn OfferStatus = "withdrawn"
)

// IsPending reports whether the offer reserves room on its node.
func (s OfferStatus) IsPending() bool { return s == OfferOpen || s == OfferClaimed }

// Offer is a deployment that a reactive node was asked to take.
type Offer struct {
	ID     OfferID
	Node   string
	NodeID NodeID
	// Run is empty while a request waits for the answer.
	Run    RunID
	Status OfferStatus
	// Reason is why the node declined.
	Reason string
	// Deployment is what the node is told.
	Deployment OfferedDeployment
	// Reserved is held for the deployment while the offer is pending, and so are GPUs.
	Reserved pipeline.Resources
	GPUs     []string
	VRAMMiB  int
	// Within is how long the node may still take to answer.
	Within time.Duration
	// Expired is set when its time is over. Due is set when a node that declined may be
	// asked again.
	Expired, Due bool
	ChangedAt    time.Time
}

// OfferedDeployment describes a deployment to the site that may take it. It has no secrets.
type OfferedDeployment struct {
	Name        string     `json:"name"`
	Project     string     `json:"project"`
	Environment string     `json:"environment"`
	User        string     `json:"user"`
	Labels      []Selector `json:"required_labels,omitempty"`
	CPU         float64    `json:"cpu"`
	MemoryMiB   int        `json:"memory_mib"`
	// GPUs counts them, GPUIDs are those that are asked for by name.
	GPUs         int      `json:"gpus,omitempty"`
	GPUIDs       []string `json:"gpu_ids,omitempty"`
	GPUMemoryMiB int      `json:"gpu_memory_mib,omitempty"`
	Images       []string `json:"images"`
}

// maxOfferReason bounds what a site may say, in bytes.
const maxOfferReason = 300

// CleanOfferReason makes the words of a site safe to show: one short line without control
// characters.
func CleanOfferReason(reason string) string {
	return text.CleanLine(reason, maxOfferReason)
}

// CanMove reports whether an offer may go from one status to another.
func (s OfferStatus) CanMove(to OfferStatus) bool {
	return slices.Contains(map[OfferStatus][]OfferStatus{
		OfferOpen:     {OfferClaimed, OfferDeclined, OfferWithdrawn},
		OfferClaimed:  {OfferTaken, OfferDeclined, OfferWithdrawn},
		OfferDeclined: {OfferOpen}, OfferWithdrawn: {OfferOpen},
	}[s], to)
}
