package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Labels say what a node is: zone=fra, disk=nvme, or just a key. Keys under "nullops/" are reported
// by the node, such as nullops/arch; people set all others.
type Labels map[string]string

// OwnLabels is the part of the name space that belongs to us.
const OwnLabels = "nullops/"

// The labels that every node reports.
const (
	LabelNode = OwnLabels + "node"
	LabelArch = OwnLabels + "arch"
	LabelGPU  = OwnLabels + "gpu"
)

// Selector asks for a label: "key" for any value, "key=value" for one.
type Selector string

// Matches reports whether the labels have what the selector asks for.
func (s Selector) Matches(l Labels) bool {
	key, value, exact := strings.Cut(string(s), "=")
	has, ok := l[key]
	return ok && (!exact || has == value)
}

// TaintEffect is what a taint does to deployments that do not tolerate it.
type TaintEffect string

// The effects.
const (
	// NoSchedule keeps them away.
	NoSchedule TaintEffect = "no_schedule"
	// PreferNoSchedule sends them elsewhere while there is an elsewhere.
	PreferNoSchedule TaintEffect = "prefer_no_schedule"
)

// Taint keeps deployments off a node unless they tolerate it.
type Taint struct {
	Key    string      `json:"key"`
	Value  string      `json:"value,omitempty"`
	Effect TaintEffect `json:"effect"`
}

func (t Taint) String() string {
	if t.Value == "" {
		return t.Key
	}
	return t.Key + "=" + t.Value
}

// Toleration names tolerated taints: "key" for any value, "key=value" for one, "*" for all.
type Toleration string

// Tolerates reports whether the toleration covers the taint.
func (t Toleration) Tolerates(x Taint) bool {
	key, value, exact := strings.Cut(string(t), "=")
	return t == "*" || key == x.Key && (!exact || value == x.Value)
}

// Placement is what an environment or a project asks of nodes.
type Placement struct {
	// Required labels a node must have, Forbidden ones it must not; of two
	// nodes, the one with more Preferred labels is better.
	Required    []Selector   `json:"required,omitempty"`
	Forbidden   []Selector   `json:"forbidden,omitempty"`
	Preferred   []Selector   `json:"preferred,omitempty"`
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// GPUMemoryMiB is what each GPU must have that a service asks for.
	GPUMemoryMiB int `json:"gpu_memory_mib,omitempty"`
}

// Combine adds what another one asks: a deployment has to satisfy both.
func (p Placement) Combine(q Placement) Placement {
	return Placement{
		Required:     sortedUnion(p.Required, q.Required),
		Forbidden:    sortedUnion(p.Forbidden, q.Forbidden),
		Preferred:    sortedUnion(p.Preferred, q.Preferred),
		Tolerations:  sortedUnion(p.Tolerations, q.Tolerations),
		GPUMemoryMiB: max(p.GPUMemoryMiB, q.GPUMemoryMiB),
	}
}

// sortedUnion is sorted and without doubles, and nil when it is empty: the same asked
// twice is the same.
func sortedUnion[T ~string](a, b []T) []T {
	all := slices.Concat(a, b)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil
	}
	return slices.Clip(all)
}

// The most that one list of labels, selectors or taints may hold, and the most
// memory that may be asked of a GPU.
const (
	maxTerms  = 32
	maxGPUMiB = 4 << 20
)

// Normalize returns the placement in its canonical order, or an error that says what is wrong.
func (p Placement) Normalize(field string) (Placement, error) {
	for _, list := range []struct {
		name  string
		terms []Selector
	}{{"required", p.Required}, {"forbidden", p.Forbidden}, {"preferred", p.Preferred}} {
		if err := checkTerms(field+"."+list.name, list.terms); err != nil {
			return p, err
		}
	}
	if err := checkTolerations(field+".tolerations", p.Tolerations); err != nil {
		return p, err
	}
	for i, s := range p.Required {
		if slices.Contains(p.Forbidden, s) {
			return p, &Error{Kind: Invalid, Code: "placement_contradicts",
				Field:   fmt.Sprintf("%s.required[%d]", field, i),
				Message: fmt.Sprintf("%s is both required and forbidden", s),
				Remedy:  "Take it out of one of the two lists."}
		}
	}
	if p.GPUMemoryMiB < 0 || p.GPUMemoryMiB > maxGPUMiB {
		return p, outOfRange(field+".gpu_memory_mib", p.GPUMemoryMiB, maxGPUMiB)
	}
	return p.Combine(Placement{}), nil
}

func outOfRange(field string, got, most int) error {
	return &Error{Kind: Invalid, Code: "range", Field: field,
		Message: fmt.Sprintf("%d is out of range", got),
		Remedy:  fmt.Sprintf("Give 0 to %d.", most)}
}

func checkTerms[T ~string](field string, all []T) error {
	if len(all) > maxTerms {
		return outOfRange(field, len(all), maxTerms)
	}
	for i, term := range all {
		key, value, _ := strings.Cut(string(term), "=")
		at := fmt.Sprintf("%s[%d]", field, i)
		if err := checkLabel(at, key, value); err != nil {
			return err
		}
	}
	return nil
}

// NormalizeSelectors returns selectors in their canonical order, or an error that says which one is
// wrong.
func NormalizeSelectors(field string, all []Selector) ([]Selector, error) {
	if err := checkTerms(field, all); err != nil {
		return nil, err
	}
	return sortedUnion(all, nil), nil
}

func checkTolerations(field string, all []Toleration) error {
	return checkTerms(field, slices.DeleteFunc(slices.Clone(all),
		func(t Toleration) bool { return t == "*" }))
}

// checkLabel holds keys and values to a grammar that needs no quoting in YAML,
// on a command line or in a URL.
func checkLabel(field, key, value string) error {
	switch name := strings.TrimPrefix(key, OwnLabels); {
	case !isLabelWord(name) || len(key) > maxLabel:
		return &Error{Kind: Invalid, Code: "label_invalid", Field: field,
			Message: fmt.Sprintf("%q is not a label's key", ClipText(key)),
			Remedy: "Use 1 to 63 letters, digits, '.', '_', '/' and '-', " +
				"with a letter or digit at both ends."}
	case value != "" && !isLabelWord(value):
		return &Error{Kind: Invalid, Code: "label_invalid", Field: field,
			Message: fmt.Sprintf("%q is not a label's value", ClipText(value)),
			Remedy: "Use at most 63 letters, digits, '.', '_', '/' and '-', " +
				"with a letter or digit at both ends."}
	}
	return nil
}

const maxLabel = 63

func isLabelWord(s string) bool {
	if s == "" || len(s) > maxLabel || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for _, c := range []byte(s) {
		if !isAlphanumeric(c) && !strings.ContainsRune("._/-", rune(c)) {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// NodeSettings is what an admin decides about a node.
type NodeSettings struct {
	Labels Labels  `json:"labels,omitempty"`
	Taints []Taint `json:"taints,omitempty"`
	// RunLimit is how many runs may run at once; 0 is no limit.
	RunLimit int `json:"run_limit,omitempty"`
	// DiskFloorMiB is the free disk below which nothing new is placed; 0 is
	// what we think good.
	DiskFloorMiB int `json:"disk_floor_mib,omitempty"`
	// Priority of the node among those that fit: lower is taken first, 0 is
	// like the others.
	Priority int `json:"priority,omitempty"`
	// RequireVRAMHint refuses services that do not say how much GPU memory they use.
	RequireVRAMHint bool `json:"require_vram_hint,omitempty"`
	// Reactive has the node's agent asked before each deployment. Its site decides.
	Reactive bool `json:"reactive,omitempty"`
}

// The most that node settings may say.
const (
	maxRunLimit  = 1000
	maxDiskFloor = 64 << 20
	maxPriority  = 255
)

// Normalize returns the settings in their canonical order, or an error that says what is wrong.
func (s NodeSettings) Normalize() (NodeSettings, error) {
	if len(s.Labels) > maxTerms {
		return s, outOfRange("labels", len(s.Labels), maxTerms)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if strings.HasPrefix(key, OwnLabels) {
			return s, &Error{Kind: Invalid, Code: "label_invalid", Field: "labels." + ClipText(key),
				Message: "labels under " + OwnLabels + " are what the node itself told",
				Remedy:  "Choose a key without that prefix."}
		}
		if err := checkLabel("labels."+ClipText(key), key, s.Labels[key]); err != nil {
			return s, err
		}
	}
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	for _, n := range []struct {
		field     string
		got, most int
	}{{"run_limit", s.RunLimit, maxRunLimit}, {"disk_floor_mib", s.DiskFloorMiB, maxDiskFloor},
		{"priority", s.Priority, maxPriority}} {
		if n.got < 0 || n.got > n.most {
			return s, outOfRange(n.field, n.got, n.most)
		}
	}
	var err error
	s.Taints, err = checkedTaints(s.Taints)
	return s, err
}

func checkedTaints(all []Taint) ([]Taint, error) {
	if len(all) > maxTerms {
		return all, outOfRange("taints", len(all), maxTerms)
	}
	all = slices.Clone(all)
	for i, t := range all {
		at := fmt.Sprintf("taints[%d]", i)
		if err := checkLabel(at, t.Key, t.Value); err != nil {
			return all, err
		}
		if t.Effect != NoSchedule && t.Effect != PreferNoSchedule {
			return all, &Error{Kind: Invalid, Code: "taint_invalid", Field: at + ".effect",
				Message: fmt.Sprintf("%q is not an effect", ClipText(string(t.Effect))),
				Remedy:  "Use no_schedule or prefer_no_schedule."}
		}
	}
	slices.SortFunc(all, func(a, b Taint) int {
		return strings.Compare(a.String()+string(a.Effect), b.String()+string(b.Effect))
	})
	if all = slices.Compact(all); len(all) == 0 {
		return nil, nil
	}
	return all, nil
}
