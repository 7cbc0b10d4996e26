package main

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	finalizer          = "davit.dev/teardown"
	deploymentLabel    = "davit.dev/deployment"
	deploymentUIDLabel = "davit.dev/deployment-uid"
)

var groupVersion = schema.GroupVersion{Group: "davit.dev", Version: "v1alpha1"}

// AppDeployment has of the record what this operator looks at.
type AppDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              AppDeploymentSpec   `json:"spec"`
	Status            AppDeploymentStatus `json:"status,omitzero"`
}

type AppDeploymentSpec struct {
	SourceRevisionConfig SourceRevisionConfig `json:"sourceRevisionConfig"`
	RevisionSerial       *int64               `json:"revisionSerial,omitempty"`
}

type SourceRevisionConfig struct {
	ImageURI string `json:"imageUri,omitempty"`
}

type AppDeploymentStatus struct {
	State              string             `json:"state,omitempty"`
	StateChangedAt     *metav1.Time       `json:"stateChangedAt,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	LatestRevisionID   string             `json:"latestRevisionId,omitempty"`
	LatestRevision     string             `json:"latestRevision,omitempty"`
	ResourceSpec       map[string]float64 `json:"resourceSpec,omitempty"`
	Image              string             `json:"image,omitempty"`
	Replicas           string             `json:"replicas,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type AppDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AppDeployment `json:"items"`
}

// AppRevision is a snapshot: nothing in it is looked at again but whose it is.
type AppRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              AppRevisionSpec   `json:"spec"`
	Status            AppRevisionStatus `json:"status,omitzero"`
}

type AppRevisionSpec struct {
	ID                   string               `json:"id"`
	DeploymentName       string               `json:"deploymentName"`
	DeploymentUID        string               `json:"deploymentUid"`
	DeploymentGeneration int64                `json:"deploymentGeneration"`
	RevisionSerial       *int64               `json:"revisionSerial,omitempty"`
	Source               string               `json:"source"`
	Requested            apiextensionsv1.JSON `json:"requested"`
	Resolved             apiextensionsv1.JSON `json:"resolved"`
}

type AppRevisionStatus struct {
	State              string             `json:"state,omitempty"`
	Message            string             `json:"message,omitempty"`
	StateChangedAt     *metav1.Time       `json:"stateChangedAt,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type AppRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AppRevision `json:"items"`
}

type TracingProject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TracingProjectSpec   `json:"spec,omitzero"`
	Status            TracingProjectStatus `json:"status,omitzero"`
}

type TracingProjectSpec struct {
	Description string `json:"description,omitempty"`
}

type TracingProjectStatus struct {
	DeploymentUID      string             `json:"deploymentUid,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type TracingProjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TracingProject `json:"items"`
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion,
		&AppDeployment{}, &AppDeploymentList{},
		&AppRevision{}, &AppRevisionList{},
		&TracingProject{}, &TracingProjectList{},
	)
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

func (in *AppDeployment) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.RevisionSerial = copyOf(in.Spec.RevisionSerial)
	out.Status.StateChangedAt = in.Status.StateChangedAt.DeepCopy()
	out.Status.ResourceSpec = maps.Clone(in.Status.ResourceSpec)
	out.Status.Conditions = slices.Clone(in.Status.Conditions)
	return &out
}

func (in *AppDeploymentList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]AppDeployment, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*AppDeployment)
	}
	return &out
}

func (in *AppRevision) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.RevisionSerial = copyOf(in.Spec.RevisionSerial)
	in.Spec.Requested.DeepCopyInto(&out.Spec.Requested)
	in.Spec.Resolved.DeepCopyInto(&out.Spec.Resolved)
	out.Status.StateChangedAt = in.Status.StateChangedAt.DeepCopy()
	out.Status.Conditions = slices.Clone(in.Status.Conditions)
	return &out
}

func (in *AppRevisionList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]AppRevision, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*AppRevision)
	}
	return &out
}

func (in *TracingProject) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(in.Status.Conditions)
	return &out
}

func (in *TracingProjectList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]TracingProject, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*TracingProject)
	}
	return &out
}

func copyOf[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}
