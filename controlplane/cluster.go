package controlplane

// Cluster is what a node is that is a Kubernetes cluster, or a part of one.
type Cluster struct {
	Version string `json:"version"`
	// Network is the network plugin; empty means that the agent does not recognize it.
	Network string `json:"network,omitempty"`
	// MachineCount counts all machines that deployments may use; Machines may be the first ones.
	MachineCount   int            `json:"machine_count"`
	Machines       []Machine      `json:"machines,omitempty"`
	StorageClasses []StorageClass `json:"storage_classes,omitempty"`
}

// Machine is one machine of a cluster. CPU and memory are what pods may have of it.
type Machine struct {
	Name    string       `json:"name"`
	State   MachineState `json:"state"`
	Version string       `json:"version"`
	CPU     float64      `json:"cpu"`
	Memory  int64        `json:"memory"`
	Detail  string       `json:"detail,omitempty"`
}

// MachineState is whether a machine of a cluster takes pods.
type MachineState string

// The states, as agents report them.
const (
	MachineReady    MachineState = "ready"
	MachineCordoned MachineState = "cordoned"
	MachineNotReady MachineState = "not_ready"
)

// StorageClass is a kind of volumes that a cluster has.
type StorageClass struct {
	Name        string `json:"name"`
	Provisioner string `json:"provisioner"`
	Default     bool   `json:"default,omitempty"`
}
