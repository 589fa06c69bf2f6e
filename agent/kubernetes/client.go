package kubernetes

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The rate of requests: client-go's own limit of five a second is for controllers.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// cluster speaks to one API server.
type cluster struct {
	config     *rest.Config
	core       rest.Interface
	parameters runtime.ParameterCodec

	namespaces   apiResource[corev1.Namespace, *corev1.Namespace]
	machines     apiResource[corev1.Node, *corev1.Node]
	pods         apiResource[corev1.Pod, *corev1.Pod]
	services     apiResource[corev1.Service, *corev1.Service]
	quotas       apiResource[corev1.ResourceQuota, *corev1.ResourceQuota]
	ranges       apiResource[corev1.LimitRange, *corev1.LimitRange]
	claims       apiResource[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim]
	secrets      apiResource[corev1.Secret, *corev1.Secret]
	events       apiResource[corev1.Event, *corev1.Event]
	deployments  apiResource[appsv1.Deployment, *appsv1.Deployment]
	statefulSets apiResource[appsv1.StatefulSet, *appsv1.StatefulSet]
	policies     apiResource[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]
	classes      apiResource[storagev1.StorageClass, *storagev1.StorageClass]
	leases       apiResource[coordinationv1.Lease, *coordinationv1.Lease]
	reviews      apiResource[authorizationv1.SelfSubjectAccessReview,
		*authorizationv1.SelfSubjectAccessReview]
}

// apiGroups are those that the package speaks to.
func apiGroups() map[schema.GroupVersion]func(*runtime.Scheme) error {
	return map[schema.GroupVersion]func(*runtime.Scheme) error{
		corev1.SchemeGroupVersion:          corev1.AddToScheme,
		appsv1.SchemeGroupVersion:          appsv1.AddToScheme,
		networkingv1.SchemeGroupVersion:    networkingv1.AddToScheme,
		storagev1.SchemeGroupVersion:       storagev1.AddToScheme,
		coordinationv1.SchemeGroupVersion:  coordinationv1.AddToScheme,
		authorizationv1.SchemeGroupVersion: authorizationv1.AddToScheme,
	}
}

// loadClusterConfig reads a kubeconfig, or, without one, what Kubernetes gives to a pod.
func loadClusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		c, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("the agent does not run in a pod: set " +
				"agent.kubernetes.kubeconfig to a kubeconfig file of the cluster")
		}
		if err != nil {
			return nil, fmt.Errorf("the pod's own credentials cannot be read: %w; let its "+
				"service account be mounted (automountServiceAccountToken), or set "+
				"agent.kubernetes.kubeconfig", err)
		}
		return c, nil
	}
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("setting agent.kubernetes.kubeconfig: %w; name a file that works "+
			"with kubectl --kubeconfig", err)
	}
	return c, nil
}

func newCluster(config *rest.Config) (*cluster, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range apiGroups() {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.UserAgent = "nullops-agent"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c := &cluster{config: config, parameters: runtime.NewParameterCodec(scheme)}
	clients := map[schema.GroupVersion]rest.Interface{}
	for gv := range apiGroups() {
		own := rest.CopyConfig(config)
		own.GroupVersion, own.APIPath = &gv, "/apis"
		if gv.Group == "" {
			own.APIPath = "/api"
		}
		client, err := rest.RESTClientFor(own)
		if err != nil {
			return nil, fmt.Errorf("kubernetes client: %w", err)
		}
		clients[gv] = client
	}
	c.setResources(clients)
	return c, nil
}

func (c *cluster) setResources(clients map[schema.GroupVersion]rest.Interface) {
	c.core = clients[corev1.SchemeGroupVersion]
	apps := clients[appsv1.SchemeGroupVersion]
	c.namespaces = newResource[corev1.Namespace](c, c.core, "namespaces")
	c.machines = newResource[corev1.Node](c, c.core, "nodes")
	c.pods = newResource[corev1.Pod](c, c.core, "pods")
	c.services = newResource[corev1.Service](c, c.core, "services")
	c.quotas = newResource[corev1.ResourceQuota](c, c.core, "resourcequotas")
	c.ranges = newResource[corev1.LimitRange](c, c.core, "limitranges")
	c.claims = newResource[corev1.PersistentVolumeClaim](c, c.core, "persistentvolumeclaims")
	c.secrets = newResource[corev1.Secret](c, c.core, "secrets")
	c.events = newResource[corev1.Event](c, c.core, "events")
	c.deployments = newResource[appsv1.Deployment](c, apps, "deployments")
	c.statefulSets = newResource[appsv1.StatefulSet](c, apps, "statefulsets")
	c.policies = newResource[networkingv1.NetworkPolicy](c,
		clients[networkingv1.SchemeGroupVersion], "networkpolicies")
	c.classes = newResource[storagev1.StorageClass](c, clients[storagev1.SchemeGroupVersion],
		"storageclasses")
	c.leases = newResource[coordinationv1.Lease](c, clients[coordinationv1.SchemeGroupVersion],
		"leases")
	c.reviews = newResource[authorizationv1.SelfSubjectAccessReview](c,
		clients[authorizationv1.SchemeGroupVersion], "selfsubjectaccessreviews")
}

// serverVersion asks for the version of the API server.
func (c *cluster) serverVersion(ctx context.Context) (v version.Info, err error) {
	err = readJSON(c.core.Get().AbsPath("/version").Do(ctx), &v)
	return v, err
}

// readJSON decodes an answer. Raw alone would lose the reason of a refusal.
func readJSON(answer rest.Result, into any) error {
	if err := answer.Error(); err != nil {
		return err
	}
	data, err := answer.Raw()
	if err != nil {
		return err
	}
	return decodeJSON(data, into)
}

// object is a pointer to an API type.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// apiResource is one kind of objects. An empty namespace means: of the cluster, or of all
// namespaces.
type apiResource[T any, P object[T]] struct {
	cluster *cluster
	client  rest.Interface
	name    string
}

func newResource[T any, P object[T]](
	c *cluster, client rest.Interface, name string,
) apiResource[T, P] {
	return apiResource[T, P]{cluster: c, client: client, name: name}
}

func (r apiResource[T, P]) get(ctx context.Context, namespace, name string) (P, error) {
	o := P(new(T))
	err := r.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).Name(name).
		Do(ctx).Into(o)
	return o, err
}

func (r apiResource[T, P]) create(ctx context.Context, o P) (P, error) {
	namespace, made := o.GetNamespace(), P(new(T))
	err := r.client.Post().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).Body(o).
		Do(ctx).Into(made)
	return made, err
}

// tryCreate has the API server check an object as if it were made, with everything that may refuse
// it, and makes nothing.
func (r apiResource[T, P]) tryCreate(ctx context.Context, o P) error {
	namespace := o.GetNamespace()
	return r.client.Post().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
			r.cluster.parameters).Body(o).Do(ctx).Error()
}

func (r apiResource[T, P]) update(ctx context.Context, o P) (P, error) {
	namespace, made := o.GetNamespace(), P(new(T))
	err := r.client.Put().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).
		Name(o.GetName()).Body(o).Do(ctx).Into(made)
	return made, err
}

// patch merges JSON into the object.
func (r apiResource[T, P]) patch(ctx context.Context, namespace, name, json string) error {
	return r.client.Patch(types.MergePatchType).NamespaceIfScoped(namespace, namespace != "").
		Resource(r.name).Name(name).Body([]byte(json)).Do(ctx).Error()
}

func (r apiResource[T, P]) remove(
	ctx context.Context, namespace, name string, o metav1.DeleteOptions,
) error {
	return r.client.Delete().NamespaceIfScoped(namespace,
		namespace != "").Resource(r.name).Name(name).
		Body(&o).Do(ctx).Error()
}

// list returns the objects with these labels.
func (r apiResource[T, P]) list(ctx context.Context, namespace, labels string) ([]T, error) {
	return r.listBy(ctx, namespace, metav1.ListOptions{LabelSelector: labels})
}

func (r apiResource[T, P]) listBy(
	ctx context.Context, namespace string, o metav1.ListOptions,
) ([]T, error) {
	var l struct {
		Items []T `json:"items"`
	}
	err := readJSON(r.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).
		SetHeader("Accept", "application/json").
		VersionedParams(&o, r.cluster.parameters).Do(ctx), &l)
	return l.Items, err
}

// watch follows the objects with these labels, from now on.
func (r apiResource[T, P]) watch(ctx context.Context, labels string) (watch.Interface, error) {
	return r.client.Get().Resource(r.name).VersionedParams(
		&metav1.ListOptions{LabelSelector: labels, Watch: true}, r.cluster.parameters).Watch(ctx)
}
