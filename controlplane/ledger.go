package controlplane

import "time"

// Allocation is what a deployment holds of its node, with the names that the usage ledger
// keeps. Amounts are whole numbers, so that sums are exact however an interval is cut.
type Allocation struct {
	Deployment    DeploymentID
	Name          string
	ProjectID     ProjectID
	Project       string
	EnvironmentID EnvironmentID
	Environment   string
	NodeID        NodeID
	Node          string
	Team          string
	Person        string
	Millicores    int64
	MemoryMiB     int64
	GPUs          int64
	// VolumeMiB is what its volumes took when they were measured last.
	VolumeMiB int64
}

// AllocationEvent says what a deployment holds from a moment on.
type AllocationEvent struct {
	ID         int64
	At         time.Time
	Deployment DeploymentID
	// Held is false if it holds nothing any more; Allocation is empty then.
	Held       bool
	Allocation Allocation
}

// OpenAllocation is an interval that has begun and not ended.
type OpenAllocation struct {
	Allocation
	Since time.Time
}

// LedgerKind says what a row of the usage ledger is.
type LedgerKind string

// The kinds.
const (
	// LedgerAllocated is what was reserved, whether it was used or not.
	LedgerAllocated LedgerKind = "allocated"
	// LedgerMeasured is what was measured: traffic.
	LedgerMeasured LedgerKind = "measured"
	// LedgerCorrection adds to what an earlier row says, or takes from it.
	LedgerCorrection LedgerKind = "correction"
)

// UsageAmounts are amounts of the usage ledger.
type UsageAmounts struct {
	MillicoreSeconds int64
	MemoryMiBSeconds int64
	GPUSeconds       int64
	VolumeMiBSeconds int64
	TrafficBytes     int64
}

// Add returns the sum of both.
func (a UsageAmounts) Add(b UsageAmounts) UsageAmounts {
	return UsageAmounts{a.MillicoreSeconds + b.MillicoreSeconds,
		a.MemoryMiBSeconds + b.MemoryMiBSeconds, a.GPUSeconds + b.GPUSeconds,
		a.VolumeMiBSeconds + b.VolumeMiBSeconds, a.TrafficBytes + b.TrafficBytes}
}

// Negate returns the amounts that take these back.
func (a UsageAmounts) Negate() UsageAmounts {
	return UsageAmounts{-a.MillicoreSeconds, -a.MemoryMiBSeconds, -a.GPUSeconds,
		-a.VolumeMiBSeconds, -a.TrafficBytes}
}

// AmountsOver is what an allocation comes to in some seconds.
func (a Allocation) AmountsOver(seconds int64) UsageAmounts {
	return UsageAmounts{MillicoreSeconds: a.Millicores * seconds,
		MemoryMiBSeconds: a.MemoryMiB * seconds, GPUSeconds: a.GPUs * seconds,
		VolumeMiBSeconds: a.VolumeMiB * seconds}
}

// LedgerRow is one row of the usage ledger. It is never changed or deleted.
type LedgerRow struct {
	ID   int64
	Kind LedgerKind
	// Allocation has the names; what it holds is in Amounts.
	Allocation
	From, Until time.Time
	Amounts     UsageAmounts
	// Corrects is the row that a correction is about.
	Corrects  int64
	Reason    string
	WrittenBy string
	WrittenAt time.Time
}

// UsagePrices turn amounts into money. The zero value has no currency, and no costs.
type UsagePrices struct {
	Currency      string
	CPUHour       float64
	MemoryGiBHour float64
	GPUHour       float64
	TrafficGiB    float64
}

// Hours are amounts as people read them.
func (a UsageAmounts) Hours() (cpu, memoryGiB, gpu float64) {
	return float64(a.MillicoreSeconds) / 1000 / 3600, float64(a.MemoryMiBSeconds) / 1024 / 3600,
		float64(a.GPUSeconds) / 3600
}

// CostOf is what amounts cost.
func (p UsagePrices) CostOf(a UsageAmounts) float64 {
	cpu, memory, gpu := a.Hours()
	return cpu*p.CPUHour + memory*p.MemoryGiBHour + gpu*p.GPUHour +
		float64(a.TrafficBytes)/(1<<30)*p.TrafficGiB
}

// UsageGroup is what rows of the usage ledger are summed up by.
type UsageGroup string

// The groups.
const (
	ByTeam        UsageGroup = "team"
	ByProject     UsageGroup = "project"
	ByPerson      UsageGroup = "person"
	ByEnvironment UsageGroup = "environment"
	ByNode        UsageGroup = "node"
	ByDeployment  UsageGroup = "deployment"
	ByDay         UsageGroup = "day"
)

// UsageGroups lists them all.
func UsageGroups() []UsageGroup {
	return []UsageGroup{ByTeam, ByProject, ByPerson, ByEnvironment, ByNode, ByDeployment, ByDay}
}

// UsageBalance is what one group's member used in a stretch of time.
type UsageBalance struct {
	// Key has a value for each group that was asked for, in the same order.
	Key     []string
	Amounts UsageAmounts
	Cost    float64
}

// IdleDeployment is one that nobody used for a while, and what it holds.
type IdleDeployment struct {
	Allocation
	ActiveAt time.Time
	// Cores is the mean of what it really used in the last day.
	Cores float64
	// Spent is what it came to in this month.
	Spent UsageAmounts
	// CostPerDay and Cost follow from the prices; both are 0 without any.
	CostPerDay, Cost float64
}

// BudgetMeasure is what a budget counts.
type BudgetMeasure string

// The measures.
const (
	MeasureCPUHours       BudgetMeasure = "cpu_hours"
	MeasureMemoryGiBHours BudgetMeasure = "memory_gib_hours"
	MeasureGPUHours       BudgetMeasure = "gpu_hours"
	MeasureCost           BudgetMeasure = "cost"
)

// Budget is how much of something a team, a project, a person or an environment should use in
// a month.
type Budget struct {
	Name string
	// Scope is team, project, person or environment; Subject is its name.
	Scope   UsageGroup
	Subject string
	Measure BudgetMeasure
	Amount  float64
	// Shares are the percentages at which a notice is given.
	Shares []int
	// Remove has deployments removed, a day after the notice that all of it is used.
	Remove    bool
	CreatedBy string
	CreatedAt time.Time
	// Used is what this month came to so far; RemoveAt is when removals begin, if they do.
	Used     float64
	RemoveAt *time.Time
}
