package api

import (
	"context"
	"net"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/nodes"
)

func (s *server) ListNodes(
	ctx context.Context, r ListNodesRequestObject,
) (ListNodesResponseObject, error) {
	p := toPage(r.Params.Cursor, r.Params.Limit)
	p.Backwards = valueOr(r.Params.Sort, "") == ListNodesParamsSortMinusName
	all, next, err := s.Nodes.ListNodes(ctx, actorOf(ctx), p)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		s.Usage.Watch(n.ID)
	}
	return ListNodes200JSONResponse{Items: convertAll(all, toNode), NextCursor: ptrOrNil(next)}, nil
}

func (s *server) CreateNode(
	ctx context.Context, r CreateNodeRequestObject,
) (CreateNodeResponseObject, error) {
	e, err := s.Nodes.AddNode(ctx, actorOf(ctx), nodes.Put{
		Name: r.Body.Name, Environment: r.Body.Environment, Address: r.Body.Address,
		Thumbprint: valueOr(r.Body.Thumbprint, ""),
		Connect:    controlplane.NodeConnect(valueOr(r.Body.Connect, "")),
	})
	if err != nil {
		return nil, err
	}
	return CreateNode201JSONResponse(s.toEnrolment(e)), nil
}

func (s *server) GetNode(
	ctx context.Context, r GetNodeRequestObject,
) (GetNodeResponseObject, error) {
	n, err := s.Nodes.GetNode(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	s.Usage.Watch(n.ID)
	return GetNode200JSONResponse(toNode(n)), nil
}

func (s *server) DeleteNode(
	ctx context.Context, r DeleteNodeRequestObject,
) (DeleteNodeResponseObject, error) {
	if err := s.Nodes.RemoveNode(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteNode204Response{}, nil
}

func (s *server) EnableNode(
	ctx context.Context, r EnableNodeRequestObject,
) (EnableNodeResponseObject, error) {
	n, err := s.Nodes.EnableNode(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return EnableNode200JSONResponse(toNode(n)), nil
}

func (s *server) DisableNode(
	ctx context.Context, r DisableNodeRequestObject,
) (DisableNodeResponseObject, error) {
	if err := s.requireNobodyOnNode(ctx, r.Name, r.Params.Anyway); err != nil {
		return nil, err
	}
	n, err := s.Nodes.DisableNode(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return DisableNode200JSONResponse(toNode(n)), nil
}

// requireNobodyOnNode does not let somebody cut off those who are at the deployments of a node,
// unless the request says that it is done anyway.
func (s *server) requireNobodyOnNode(ctx context.Context, node string, anyway *bool) error {
	if valueOr(anyway, false) {
		return nil
	}
	return s.Lifecycle.RequireNobodyOnNode(ctx, actorOf(ctx), node)
}

func (s *server) ApproveNode(
	ctx context.Context, r ApproveNodeRequestObject,
) (ApproveNodeResponseObject, error) {
	n, err := s.Nodes.ApproveNode(ctx, actorOf(ctx), r.Name, r.Body.Thumbprint)
	if err != nil {
		return nil, err
	}
	return ApproveNode200JSONResponse(toNode(n)), nil
}

func (s *server) RotateNodeToken(
	ctx context.Context, r RotateNodeTokenRequestObject,
) (RotateNodeTokenResponseObject, error) {
	if err := s.requireNobodyOnNode(ctx, r.Name, r.Params.Anyway); err != nil {
		return nil, err
	}
	e, err := s.Nodes.RotateToken(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return RotateNodeToken201JSONResponse(s.toEnrolment(e)), nil
}

func (s *server) RevokeNodeToken(
	ctx context.Context, r RevokeNodeTokenRequestObject,
) (RevokeNodeTokenResponseObject, error) {
	if err := s.requireNobodyOnNode(ctx, r.Name, r.Params.Anyway); err != nil {
		return nil, err
	}
	n, err := s.Nodes.RevokeToken(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return RevokeNodeToken200JSONResponse(toNode(n)), nil
}

func (s *server) toEnrolment(e nodes.Enrolment) NodeEnrolment {
	cluster := s.clusterCommands(e.Node, e.Token)
	command := s.installCommand(e.Node, e.Token)
	if i := e.Node.Inventory; i != nil && i.Cluster != nil {
		command = cluster.Helm
	}
	return NodeEnrolment{Node: toNode(e.Node), Token: e.Token.Reveal(), Command: command,
		Kubernetes: &cluster}
}

// installCommand is the command to run on the machine. The token is shown only here: the person who
// runs the command is root on that machine, and the token is valid for it only. deploy/README.md
// explains each part.
func (s *server) installCommand(n controlplane.Node, token controlplane.Plain) string {
	return "docker run -d --name nullops-agent --restart always" + s.agentWay(n) +
		" -v /var/run/docker.sock:/var/run/docker.sock" +
		" -v /var/lib/nullops:/data -v /run/nullops:/run/nullops" +
		" -e AGENT_TOKEN=" + token.Reveal() + " " + s.agentImage()
}

// agentWay is how the container is reached: at its port, at that for a reverse proxy, or at none.
func (s *server) agentWay(n controlplane.Node) string {
	if n.Connect == controlplane.ConnectAgent {
		return " -e AGENT_CONNECT=" + s.agentURL() + s.agentPin()
	}
	if strings.Contains(n.Address, "://") {
		return " -p 5001:5001 -e NULLOPS_AGENT_WEBSOCKET=:5001"
	}
	_, port, err := net.SplitHostPort(n.Address)
	if err != nil {
		port = "5000"
	}
	return " -p " + port + ":5000"
}

// agentPin tells an agent which certificate to trust, unless an authority vouches for ours.
func (s *server) agentPin() string {
	if s.Fingerprint == "" {
		return ""
	}
	return " -e AGENT_FINGERPRINT=" + s.Fingerprint
}

// agentURL is where agents dial: the address that people use.
func (s *server) agentURL() string {
	at := *s.URL
	at.Scheme = map[string]string{"http": "ws", "https": "wss"}[at.Scheme]
	return strings.TrimSuffix(at.String(), "/")
}

func (s *server) agentImage() string {
	if s.AgentImage != "" {
		return s.AgentImage
	}
	return "nullops/agent:" + s.Build
}

func toNode(n controlplane.Node) Node {
	out := Node{
		Name: n.Name, Environment: n.Environment, Address: n.Address,
		Status: NodeStatus(n.Status), StatusDetail: ptrOrNil(statusDetail(n)), Since: n.Since,
		Enabled: n.IsEnabled(), Thumbprint: ptrOrNil(string(n.Thumbprint)),
		RevocationPending: n.RevocationPending, TokenKid: ptrOrNil(n.TokenKid), Build: ptrOrNil(n.Build),
		Allocated: n.Allocated, Deployments: n.Deployments, Settings: settingsOut(n.OwnSettings),
		Template:      ptrOrNil(n.Template),
		CpuOvercommit: new(n.Capacity.Overcommit()),
		Connect:       new(NodeConnect(n.Connect)),
	}
	if n.Template != "" {
		out.AppliedSettings = settingsOut(n.Settings)
	}
	if n.Pending != "" {
		out.PendingThumbprint = ptrOrNil(string(n.Pending))
		out.PendingProofValid = &n.PendingProofValid
	}
	out.Blocked = ptrOrNil(n.BlockedReason())
	out.ExpectedThumbprint = ptrOrNil(string(n.Expected))
	out.RejectedThumbprint, out.Drain = ptrOrNil(string(n.Rejected)), toDrain(n.Drain)
	if i := n.Inventory; i != nil {
		out.Inventory = toInventory(*i)
	}
	if v := n.Vitals; v != nil {
		out.Vitals = &NodeVitals{
			At: v.At, Cpu: v.CPU, MemoryUsed: v.MemoryUsed, DiskFree: v.DiskFree,
			MemoryOurs: &v.MemoryOurs, NetIn: &v.Flow.NetIn, NetOut: &v.Flow.NetOut,
			DiskRead: &v.Flow.DiskRead, DiskWritten: &v.Flow.DiskWritten,
		}
		if c := v.Images; c != nil {
			out.Vitals.Images = &ImageCare{Count: c.Count, Bytes: c.Bytes, Floor: c.Floor,
				Removed: c.Removed, Freed: c.Freed, At: ptrOrNil(c.At)}
		}
	}
	return out
}

// statusDetail is the reason for a node's status, or what is wrong with a node that is
// online.
func statusDetail(n controlplane.Node) string {
	why := n.Inventory.DegradedReason()
	if n.Detail != "" || n.Status != controlplane.NodeOnline || why == "" {
		return n.Detail
	}
	return "degraded: " + why
}

func toInventory(i controlplane.Inventory) *Inventory {
	out := &Inventory{
		Hostname: i.Hostname, Os: i.OS, Kernel: i.Kernel, Arch: i.Arch,
		EngineVersion: i.EngineVersion, ApiVersion: i.APIVersion,
		Cpu: i.CPU, Memory: i.Memory, Disk: i.Disk, RuncVersion: ptrOrNil(i.RuncVersion),
		CgroupVersion: ptrOrNil(i.CgroupVersion), CgroupDriver: ptrOrNil(i.CgroupDriver),
		StorageDriver: ptrOrNil(i.StorageDriver), LogDriver: ptrOrNil(i.LogDriver),
		LiveRestore: &i.LiveRestore,
		Disks:       new(convertAll(i.Disks, func(d controlplane.Disk) NodeDisk { return NodeDisk(d) })),
		Gpus: new(convertAll(i.GPUs, func(g controlplane.GPU) NodeGPU {
			return NodeGPU{Id: g.ID, Model: g.Model, Memory: g.Memory}
		})),
		Checks: new(convertAll(i.Checks, nodeCheck)), Runtime: new(NodeRuntimeDocker),
	}
	if i.Cluster != nil {
		out.Runtime, out.Cluster = new(NodeRuntimeKubernetes), toCluster(*i.Cluster)
	}
	if len(i.Plugins) > 0 {
		out.Plugins = new(convertAll(i.Plugins, func(p controlplane.HeldPlugin) NodePlugin {
			return NodePlugin{Name: p.Name, Image: p.Image, State: NodePluginState(p.State),
				Detail: ptrOrNil(p.Detail)}
		}))
	}
	if len(i.Warnings) > 0 {
		out.Warnings = &i.Warnings
	}
	return out
}

func nodeCheck(c controlplane.Check) NodeCheck {
	return NodeCheck{Id: c.ID, Severity: CheckSeverity(c.Severity), Detail: c.Detail,
		Remedy: ptrOrNil(c.Remedy)}
}
