package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/pipeline"
)

const (
	// claimFolder is the folder of a volume that services see: a new file system has a folder
	// lost+found at its top, which databases refuse.
	claimFolder = "data"
	// claimParent is where the helper sees a service's volumes.
	claimParent = "/.nullops/volumes"
	// labelShares marks the pods that mount a volume, so that all of them run on one machine: most
	// storage can be mounted on one only.
	labelShares = "nullops.volume-"
	// defaultClassMark is on the StorageClass that claims without a class get.
	defaultClassMark = "storageclass.kubernetes.io/is-default-class"
	hostnameTopology = "kubernetes.io/hostname"
)

// volumes makes, copies and measures the volumes of services.
type volumes struct {
	*base
	namespaces *namespaces
}

// claimName is unique although its parts may contain dashes.
func (n nameScheme) claimName(v agent.VolumeName) string {
	shown := "shared-" + v.Name
	if v.Service != "" {
		shown = string(v.Service) + "-" + v.Name
	}
	return withHash(shown, string(v.Service), v.Name)
}

// ensureClaims makes the volumes of a service that are not there.
func (vs *volumes) ensureClaims(ctx context.Context, s agent.ServiceSpec) error {
	for _, v := range s.Volumes {
		if err := vs.ensureClaim(ctx, agent.NameVolume(s.Deployment, s.Step, v)); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	return nil
}

func (vs *volumes) ensureClaim(ctx context.Context, v agent.VolumeName) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	namespace, name := vs.names.namespaceName(v.Deployment), vs.names.claimName(v)
	there, err := vs.claims.get(ctx, namespace, name)
	if err == nil && there.DeletionTimestamp != nil {
		return errors.New("it is still being removed")
	}
	if err == nil || !apierrors.IsNotFound(err) {
		return wrapQueryErr(err)
	}
	if _, err := vs.findClass(ctx); err != nil {
		return err
	}
	size, err := resource.ParseQuantity(vs.config.VolumeSize)
	if err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace,
			Labels: vs.names.objectLabels(agent.KindVolume, v.Deployment, "", v.Service, "")},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: size}}},
	}
	if vs.config.StorageClass != "" {
		claim.Spec.StorageClassName = &vs.config.StorageClass
	}
	_, err = vs.claims.create(ctx, claim)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return explainNamespace(explainQuota(wrapMutationErr(err)))
}

// findClass returns the StorageClass that volumes get.
func (b *base) findClass(ctx context.Context) (*storagev1.StorageClass, error) {
	all, err := b.classes.list(ctx, "", "")
	if err != nil {
		return nil, fmt.Errorf("list StorageClasses: %w", wrapQueryErr(err))
	}
	var names []string
	for i, c := range all {
		if b.config.StorageClass == c.Name ||
			b.config.StorageClass == "" && c.Annotations[defaultClassMark] == "true" {
			return &all[i], nil
		}
		names = append(names, c.Name)
	}
	has := "it has none"
	if len(names) > 0 {
		has = "it has " + strings.Join(names, ", ")
	}
	if b.config.StorageClass == "" {
		return nil, fmt.Errorf("the cluster has no default StorageClass for volumes (%s): set "+
			"agent.kubernetes.storageclass to one, or make one the default", has)
	}
	return nil, fmt.Errorf("the cluster has no StorageClass %s (%s): correct "+
		"agent.kubernetes.storageclass", b.config.StorageClass, has)
}

// shareLabel is of a pod that mounts the volume.
func shareLabel(claim string) string {
	return labelShares + claim[strings.LastIndex(claim, "-")+1:]
}

// addClaims mounts a service's volumes.
func (sv *services) addClaims(pod *corev1.PodSpec, main *corev1.Container, s agent.ServiceSpec) {
	for i, v := range s.Volumes {
		claim := sv.names.claimName(agent.NameVolume(s.Deployment, s.Step, v))
		name := "volume-" + strconv.Itoa(i)
		pod.Volumes = append(pod.Volumes, claimVolume(name, claim))
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: name,
			MountPath: v.Path, SubPath: claimFolder, ReadOnly: v.ReadOnly})
		if v.Shared != "" {
			keepTogether(pod, claim)
		}
	}
}

func claimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

// keepTogether has the pods that mount a volume run on one machine.
func keepTogether(pod *corev1.PodSpec, claim string) {
	term := corev1.PodAffinityTerm{TopologyKey: hostnameTopology,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
			shareLabel(claim): "yes"}}}
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}
	}
	all := &pod.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	*all = append(*all, term)
}

// shareLabels are those of a service's pods for its shared volumes.
func (sv *services) shareLabels(s agent.ServiceSpec) map[string]string {
	labels := map[string]string{}
	for _, v := range s.Volumes {
		if v.Shared != "" {
			labels[shareLabel(sv.names.claimName(agent.NameVolume(s.Deployment, s.Step, v)))] = "yes"
		}
	}
	return labels
}

// volumeCapabilities let the helper keep owners and modes of what it copies.
func volumeCapabilities() []corev1.Capability {
	return []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "SETFCAP"}
}

// rootContext is for the helper where it copies files of any owner.
func rootContext() *corev1.SecurityContext {
	c := restrictedContext(0)
	c.RunAsNonRoot = new(false)
	c.Capabilities.Add = volumeCapabilities()
	return c
}

// addPopulate fills new volumes with what the service's image has at their paths, as Docker does.
// The container has the service's image, and runs our helper in it.
func (sv *services) addPopulate(pod *corev1.PodSpec, s agent.ServiceSpec) error {
	if len(s.Volumes) == 0 {
		return nil
	}
	mounts := []corev1.VolumeMount{{Name: helperVolume, MountPath: helperFolder, ReadOnly: true}}
	var all []sidecar.Population
	for i, v := range s.Volumes {
		folder := claimParent + "/" + strconv.Itoa(i)
		mounts = append(mounts, corev1.VolumeMount{Name: "volume-" + strconv.Itoa(i),
			MountPath: folder, SubPath: claimFolder})
		all = append(all, sidecar.Population{From: v.Path, To: folder})
	}
	request, err := json.Marshal(all)
	if err != nil {
		return err
	}
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: populateContainer, Image: imageReference(s.Image),
		ImagePullPolicy: pullPolicy(s.Image), VolumeMounts: mounts,
		Command:         []string{helperTarget, "populate", literal(string(request))},
		SecurityContext: rootContext(),
		Resources: helperLimits(pod.Containers[0],
			pipeline.Resources{CPU: 1, MemoryMiB: 128}),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	})
	return nil
}
