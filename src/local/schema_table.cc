#include "local/schema.h"

namespace stowage::local {
namespace {

// One message per paragraph: "Name: number field type, ...". The number is the field's in protobuf
// (0: JSON only). Types:
//   s string   i, l integer of 32, 64 bits   b boolean   d float   y bytes   q quantity
//   t time   u time with microseconds   x integer or string   * anything   Name a message
//   []T a list, replaced as a whole by strategic patches; [key]T merged by that key of elements;
//   [*]T merged as a set; {}T a map from strings
//   T? is told apart from zero when absent; =T has its members in the message itself;
//   ~ strategic patches keep only the members they name; ! they replace it
constexpr std::string_view kSchema = R"(
ConfigMap: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 4 immutable b?, 2 data {}s,
  3 binaryData {}y
ObjectMeta: 1 name s, 2 generateName s, 3 namespace s, 4 selfLink s, 5 uid s, 6 resourceVersion s,
  7 generation l, 8 creationTimestamp t, 9 deletionTimestamp t?, 10 deletionGracePeriodSeconds l?,
  11 labels {}s, 12 annotations {}s, 13 ownerReferences [uid]OwnerReference, 14 finalizers [*]s,
  17 managedFields []ManagedFieldsEntry
OwnerReference: 5 apiVersion s, 1 kind s, 3 name s, 4 uid s, 6 controller b?,
  7 blockOwnerDeletion b?
ManagedFieldsEntry: 1 manager s, 2 operation s, 3 apiVersion s, 4 time t?, 6 fieldsType s,
  7 fieldsV1 *?, 8 subresource s
Endpoints: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 subsets []EndpointSubset
EndpointSubset: 1 addresses []EndpointAddress, 2 notReadyAddresses []EndpointAddress,
  3 ports []EndpointPort
EndpointAddress: 1 ip s, 3 hostname s, 4 nodeName s?, 2 targetRef ObjectReference?
ObjectReference: 1 kind s, 2 namespace s, 3 name s, 4 uid s, 5 apiVersion s, 6 resourceVersion s,
  7 fieldPath s
EndpointPort: 1 name s, 2 port i, 3 protocol s, 4 appProtocol s?
Event: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 involvedObject ObjectReference,
  3 reason s, 4 message s, 5 source EventSource, 6 firstTimestamp t, 7 lastTimestamp t, 8 count i,
  9 type s, 10 eventTime u, 11 series EventSeries?, 12 action s, 13 related ObjectReference?,
  14 reportingComponent s, 15 reportingInstance s
EventSource: 1 component s, 2 host s
EventSeries: 1 count i, 2 lastObservedTime u
Namespace: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec NamespaceSpec,
  3 status NamespaceStatus
NamespaceSpec: 1 finalizers []s
NamespaceStatus: 1 phase s, 2 conditions [type]NamespaceCondition
NamespaceCondition: 1 type s, 2 status s, 4 lastTransitionTime t, 5 reason s, 6 message s
Node: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec NodeSpec, 3 status NodeStatus
NodeSpec: 1 podCIDR s, 7 podCIDRs [*]s, 3 providerID s, 4 unschedulable b, 5 taints []Taint,
  6 configSource NodeConfigSource?, 2 externalID s
Taint: 1 key s, 2 value s, 3 effect s, 4 timeAdded t?
NodeConfigSource: 2 configMap ConfigMapNodeConfigSource?
ConfigMapNodeConfigSource: 1 namespace s, 2 name s, 3 uid s, 4 resourceVersion s,
  5 kubeletConfigKey s
NodeStatus: 1 capacity {}q, 2 allocatable {}q, 3 phase s, 4 conditions [type]NodeCondition,
  5 addresses [type]NodeAddress, 6 daemonEndpoints NodeDaemonEndpoints, 7 nodeInfo NodeSystemInfo,
  8 images []ContainerImage, 9 volumesInUse []s, 10 volumesAttached []AttachedVolume,
  11 config NodeConfigStatus?, 12 runtimeHandlers []NodeRuntimeHandler, 13 features NodeFeatures?
NodeCondition: 1 type s, 2 status s, 3 lastHeartbeatTime t, 4 lastTransitionTime t, 5 reason s,
  6 message s
NodeAddress: 1 type s, 2 address s
NodeDaemonEndpoints: 1 kubeletEndpoint DaemonEndpoint
DaemonEndpoint: 1 Port i
NodeSystemInfo: 1 machineID s, 2 systemUUID s, 3 bootID s, 4 kernelVersion s, 5 osImage s,
  6 containerRuntimeVersion s, 7 kubeletVersion s, 8 kubeProxyVersion s, 9 operatingSystem s,
  10 architecture s, 11 swap NodeSwapStatus?
NodeSwapStatus: 1 capacity l?
ContainerImage: 1 names []s, 2 sizeBytes l
AttachedVolume: 1 name s, 2 devicePath s
NodeConfigStatus: 1 assigned NodeConfigSource?, 2 active NodeConfigSource?,
  3 lastKnownGood NodeConfigSource?, 4 error s
NodeRuntimeHandler: 1 name s, 2 features NodeRuntimeHandlerFeatures?
NodeRuntimeHandlerFeatures: 1 recursiveReadOnlyMounts b?, 2 userNamespaces b?
NodeFeatures: 1 supplementalGroupsPolicy b?
PersistentVolumeClaim: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta,
  2 spec PersistentVolumeClaimSpec, 3 status PersistentVolumeClaimStatus
PersistentVolumeClaimSpec: 1 accessModes []s, 4 selector LabelSelector?,
  2 resources VolumeResourceRequirements, 3 volumeName s, 5 storageClassName s?, 6 volumeMode s?,
  7 dataSource TypedLocalObjectReference?, 8 dataSourceRef TypedObjectReference?,
  9 volumeAttributesClassName s?
LabelSelector: 1 matchLabels {}s, 2 matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement: 1 key s, 2 operator s, 3 values []s
VolumeResourceRequirements: 1 limits {}q, 2 requests {}q
TypedLocalObjectReference: 1 apiGroup s?, 2 kind s, 3 name s
TypedObjectReference: 1 apiGroup s?, 2 kind s, 3 name s, 4 namespace s?
PersistentVolumeClaimStatus: 1 phase s, 2 accessModes []s, 3 capacity {}q,
  4 conditions [type]PersistentVolumeClaimCondition, 5 allocatedResources {}q,
  7 allocatedResourceStatuses {}s, 8 currentVolumeAttributesClassName s?,
  9 modifyVolumeStatus ModifyVolumeStatus?
PersistentVolumeClaimCondition: 1 type s, 2 status s, 3 lastProbeTime t, 4 lastTransitionTime t,
  5 reason s, 6 message s
ModifyVolumeStatus: 1 targetVolumeAttributesClassName s, 2 status s
PersistentVolume: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec PersistentVolumeSpec,
  3 status PersistentVolumeStatus
PersistentVolumeSpec: 1 capacity {}q, 2 =PersistentVolumeSource, 3 accessModes []s,
  4 claimRef ObjectReference?, 5 persistentVolumeReclaimPolicy s, 6 storageClassName s,
  7 mountOptions []s, 8 volumeMode s?, 9 nodeAffinity VolumeNodeAffinity?,
  10 volumeAttributesClassName s?
PersistentVolumeSource: 1 gcePersistentDisk *?, 2 awsElasticBlockStore *?,
  3 hostPath HostPathVolumeSource?, 4 glusterfs *?, 5 nfs NFSVolumeSource?, 6 rbd *?, 7 iscsi *?,
  8 cinder *?, 9 cephfs *?, 10 fc *?, 11 flocker *?, 12 flexVolume *?, 13 azureFile *?,
  14 vsphereVolume *?, 15 quobyte *?, 16 azureDisk *?, 17 photonPersistentDisk *?,
  18 portworxVolume *?, 19 scaleIO *?, 20 local LocalVolumeSource?, 21 storageos *?,
  22 csi CSIPersistentVolumeSource?
HostPathVolumeSource: 1 path s, 2 type s?
NFSVolumeSource: 1 server s, 2 path s, 3 readOnly b
LocalVolumeSource: 1 path s, 2 fsType s?
CSIPersistentVolumeSource: 1 driver s, 2 volumeHandle s, 3 readOnly b, 4 fsType s,
  5 volumeAttributes {}s, 6 controllerPublishSecretRef SecretReference?,
  7 nodeStageSecretRef SecretReference?, 8 nodePublishSecretRef SecretReference?,
  9 controllerExpandSecretRef SecretReference?, 10 nodeExpandSecretRef SecretReference?
SecretReference: 1 name s, 2 namespace s
VolumeNodeAffinity: 1 required NodeSelector?
NodeSelector: 1 nodeSelectorTerms []NodeSelectorTerm
NodeSelectorTerm: 1 matchExpressions []NodeSelectorRequirement,
  2 matchFields []NodeSelectorRequirement
NodeSelectorRequirement: 1 key s, 2 operator s, 3 values []s
PersistentVolumeStatus: 1 phase s, 2 message s, 3 reason s, 4 lastPhaseTransitionTime t?
Pod: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec PodSpec, 3 status PodStatus
PodSpec: 1 volumes ~[name]Volume, 20 initContainers [name]Container, 2 containers [name]Container,
  34 ephemeralContainers [name]EphemeralContainer, 3 restartPolicy s,
  4 terminationGracePeriodSeconds l?, 5 activeDeadlineSeconds l?, 6 dnsPolicy s,
  7 nodeSelector {}s, 8 serviceAccountName s, 9 serviceAccount s,
  21 automountServiceAccountToken b?, 10 nodeName s, 11 hostNetwork b, 12 hostPID b, 13 hostIPC b,
  27 shareProcessNamespace b?, 14 securityContext PodSecurityContext?,
  15 imagePullSecrets [name]LocalObjectReference, 16 hostname s, 17 subdomain s,
  18 affinity Affinity?, 19 schedulerName s, 22 tolerations []Toleration,
  23 hostAliases [ip]HostAlias, 24 priorityClassName s, 25 priority i?,
  26 dnsConfig PodDNSConfig?, 28 readinessGates []PodReadinessGate, 29 runtimeClassName s?,
  30 enableServiceLinks b?, 31 preemptionPolicy s?, 32 overhead {}q,
  33 topologySpreadConstraints [topologyKey]TopologySpreadConstraint, 35 setHostnameAsFQDN b?,
  36 os PodOS?, 37 hostUsers b?, 38 schedulingGates [name]PodSchedulingGate,
  39 resourceClaims ~[name]PodResourceClaim, 40 resources ResourceRequirements?,
  41 hostnameOverride s?
Volume: 1 name s, 2 =VolumeSource
VolumeSource: 1 hostPath HostPathVolumeSource?, 2 emptyDir EmptyDirVolumeSource?,
  3 gcePersistentDisk *?, 4 awsElasticBlockStore *?, 5 gitRepo *?, 6 secret SecretVolumeSource?,
  7 nfs NFSVolumeSource?, 8 iscsi *?, 9 glusterfs *?,
  10 persistentVolumeClaim PersistentVolumeClaimVolumeSource?, 11 rbd *?, 12 flexVolume *?,
  13 cinder *?, 14 cephfs *?, 15 flocker *?, 16 downwardAPI DownwardAPIVolumeSource?, 17 fc *?,
  18 azureFile *?, 19 configMap ConfigMapVolumeSource?, 20 vsphereVolume *?, 21 quobyte *?,
  22 azureDisk *?, 23 photonPersistentDisk *?, 26 projected ProjectedVolumeSource?,
  24 portworxVolume *?, 25 scaleIO *?, 27 storageos *?, 28 csi CSIVolumeSource?,
  29 ephemeral EphemeralVolumeSource?, 30 image ImageVolumeSource?
EmptyDirVolumeSource: 1 medium s, 2 sizeLimit q?
SecretVolumeSource: 1 secretName s, 2 items []KeyToPath, 3 defaultMode i?, 4 optional b?
KeyToPath: 1 key s, 2 path s, 3 mode i?
PersistentVolumeClaimVolumeSource: 1 claimName s, 2 readOnly b
DownwardAPIVolumeSource: 1 items []DownwardAPIVolumeFile, 2 defaultMode i?
DownwardAPIVolumeFile: 1 path s, 2 fieldRef ObjectFieldSelector?,
  3 resourceFieldRef ResourceFieldSelector?, 4 mode i?
ObjectFieldSelector: 1 apiVersion s, 2 fieldPath s
ResourceFieldSelector: 1 containerName s, 2 resource s, 3 divisor q
ConfigMapVolumeSource: 1 =LocalObjectReference, 2 items []KeyToPath, 3 defaultMode i?,
  4 optional b?
LocalObjectReference: 1 name s
ProjectedVolumeSource: 1 sources []VolumeProjection, 2 defaultMode i?
VolumeProjection: 1 secret SecretProjection?, 2 downwardAPI DownwardAPIProjection?,
  3 configMap ConfigMapProjection?, 4 serviceAccountToken ServiceAccountTokenProjection?,
  5 clusterTrustBundle ClusterTrustBundleProjection?, 6 podCertificate PodCertificateProjection?
SecretProjection: 1 =LocalObjectReference, 2 items []KeyToPath, 4 optional b?
DownwardAPIProjection: 1 items []DownwardAPIVolumeFile
ConfigMapProjection: 1 =LocalObjectReference, 2 items []KeyToPath, 4 optional b?
ServiceAccountTokenProjection: 1 audience s, 2 expirationSeconds l?, 3 path s
ClusterTrustBundleProjection: 1 name s?, 2 signerName s?, 3 labelSelector LabelSelector?,
  5 optional b?, 4 path s
PodCertificateProjection: 1 signerName s, 2 keyType s, 3 maxExpirationSeconds i?,
  4 credentialBundlePath s, 5 keyPath s, 6 certificateChainPath s
CSIVolumeSource: 1 driver s, 2 readOnly b?, 3 fsType s?, 4 volumeAttributes {}s,
  5 nodePublishSecretRef LocalObjectReference?
EphemeralVolumeSource: 1 volumeClaimTemplate PersistentVolumeClaimTemplate?
PersistentVolumeClaimTemplate: 1 metadata ObjectMeta, 2 spec PersistentVolumeClaimSpec
ImageVolumeSource: 1 reference s, 2 pullPolicy s
Container: 1 name s, 2 image s, 3 command []s, 4 args []s, 5 workingDir s,
  6 ports [containerPort]ContainerPort, 19 envFrom []EnvFromSource, 7 env [name]EnvVar,
  8 resources ResourceRequirements, 23 resizePolicy []ContainerResizePolicy, 24 restartPolicy s?,
  25 restartPolicyRules []ContainerRestartRule, 9 volumeMounts [mountPath]VolumeMount,
  21 volumeDevices [devicePath]VolumeDevice, 10 livenessProbe Probe?, 11 readinessProbe Probe?,
  22 startupProbe Probe?, 12 lifecycle Lifecycle?, 13 terminationMessagePath s,
  20 terminationMessagePolicy s, 14 imagePullPolicy s, 15 securityContext SecurityContext?,
  16 stdin b, 17 stdinOnce b, 18 tty b
ContainerPort: 1 name s, 2 hostPort i, 3 containerPort i, 4 protocol s, 5 hostIP s
EnvFromSource: 1 prefix s, 2 configMapRef ConfigMapEnvSource?, 3 secretRef SecretEnvSource?
ConfigMapEnvSource: 1 =LocalObjectReference, 2 optional b?
SecretEnvSource: 1 =LocalObjectReference, 2 optional b?
EnvVar: 1 name s, 2 value s, 3 valueFrom EnvVarSource?
EnvVarSource: 1 fieldRef ObjectFieldSelector?, 2 resourceFieldRef ResourceFieldSelector?,
  3 configMapKeyRef ConfigMapKeySelector?, 4 secretKeyRef SecretKeySelector?,
  5 fileKeyRef FileKeySelector?
ConfigMapKeySelector: 1 =LocalObjectReference, 2 key s, 3 optional b?
SecretKeySelector: 1 =LocalObjectReference, 2 key s, 3 optional b?
FileKeySelector: 1 volumeName s, 2 path s, 3 key s, 4 optional b?
ResourceRequirements: 1 limits {}q, 2 requests {}q, 3 claims []ResourceClaim
ResourceClaim: 1 name s, 2 request s
ContainerResizePolicy: 1 resourceName s, 2 restartPolicy s
ContainerRestartRule: 1 action s, 2 exitCodes ContainerRestartRuleOnExitCodes?
ContainerRestartRuleOnExitCodes: 1 operator s, 2 values []i
VolumeMount: 1 name s, 2 readOnly b, 7 recursiveReadOnly s?, 3 mountPath s, 4 subPath s,
  5 mountPropagation s?, 6 subPathExpr s
VolumeDevice: 1 name s, 2 devicePath s
Probe: 1 =ProbeHandler, 2 initialDelaySeconds i, 3 timeoutSeconds i, 4 periodSeconds i,
  5 successThreshold i, 6 failureThreshold i, 7 terminationGracePeriodSeconds l?
ProbeHandler: 1 exec ExecAction?, 2 httpGet HTTPGetAction?, 3 tcpSocket TCPSocketAction?,
  4 grpc GRPCAction?
ExecAction: 1 command []s
HTTPGetAction: 1 path s, 2 port x, 3 host s, 4 scheme s, 5 httpHeaders []HTTPHeader
HTTPHeader: 1 name s, 2 value s
TCPSocketAction: 1 port x, 2 host s
GRPCAction: 1 port i, 2 service s?
Lifecycle: 1 postStart LifecycleHandler?, 2 preStop LifecycleHandler?, 3 stopSignal s?
LifecycleHandler: 1 exec ExecAction?, 2 httpGet HTTPGetAction?, 3 tcpSocket TCPSocketAction?,
  4 sleep SleepAction?
SleepAction: 1 seconds l
SecurityContext: 1 capabilities Capabilities?, 2 privileged b?, 3 seLinuxOptions SELinuxOptions?,
  10 windowsOptions WindowsSecurityContextOptions?, 4 runAsUser l?, 8 runAsGroup l?,
  5 runAsNonRoot b?, 6 readOnlyRootFilesystem b?, 7 allowPrivilegeEscalation b?, 9 procMount s?,
  11 seccompProfile SeccompProfile?, 12 appArmorProfile AppArmorProfile?
Capabilities: 1 add []s, 2 drop []s
SELinuxOptions: 1 user s, 2 role s, 3 type s, 4 level s
WindowsSecurityContextOptions: 1 gmsaCredentialSpecName s?, 2 gmsaCredentialSpec s?,
  3 runAsUserName s?, 4 hostProcess b?
SeccompProfile: 1 type s, 2 localhostProfile s?
AppArmorProfile: 1 type s, 2 localhostProfile s?
EphemeralContainer: 1 =Container, 2 targetContainerName s
PodSecurityContext: 1 seLinuxOptions SELinuxOptions?,
  8 windowsOptions WindowsSecurityContextOptions?, 2 runAsUser l?, 6 runAsGroup l?,
  3 runAsNonRoot b?, 4 supplementalGroups []l, 12 supplementalGroupsPolicy s?, 5 fsGroup l?,
  7 sysctls []Sysctl, 9 fsGroupChangePolicy s?, 10 seccompProfile SeccompProfile?,
  11 appArmorProfile AppArmorProfile?, 13 seLinuxChangePolicy s?
Sysctl: 1 name s, 2 value s
Affinity: 1 nodeAffinity NodeAffinity?, 2 podAffinity PodAffinity?,
  3 podAntiAffinity PodAntiAffinity?
NodeAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution NodeSelector?,
  2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
PreferredSchedulingTerm: 1 weight i, 2 preference NodeSelectorTerm
PodAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm,
  2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm: 1 labelSelector LabelSelector?, 2 namespaces []s, 3 topologyKey s,
  4 namespaceSelector LabelSelector?, 5 matchLabelKeys []s, 6 mismatchLabelKeys []s
WeightedPodAffinityTerm: 1 weight i, 2 podAffinityTerm PodAffinityTerm
PodAntiAffinity: 1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm,
  2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
Toleration: 1 key s, 2 operator s, 3 value s, 4 effect s, 5 tolerationSeconds l?
HostAlias: 1 ip s, 2 hostnames []s
PodDNSConfig: 1 nameservers []s, 2 searches []s, 3 options []PodDNSConfigOption
PodDNSConfigOption: 1 name s, 2 value s?
PodReadinessGate: 1 conditionType s
TopologySpreadConstraint: 1 maxSkew i, 2 topologyKey s, 3 whenUnsatisfiable s,
  4 labelSelector LabelSelector?, 5 minDomains i?, 6 nodeAffinityPolicy s?, 7 nodeTaintsPolicy s?,
  8 matchLabelKeys []s
PodOS: 1 name s
PodSchedulingGate: 1 name s
PodResourceClaim: 1 name s, 3 resourceClaimName s?, 4 resourceClaimTemplateName s?
PodStatus: 17 observedGeneration l, 1 phase s, 2 conditions [type]PodCondition, 3 message s,
  4 reason s, 11 nominatedNodeName s, 5 hostIP s, 16 hostIPs [ip]HostIP, 6 podIP s,
  12 podIPs [ip]PodIP, 7 startTime t?, 10 initContainerStatuses []ContainerStatus,
  8 containerStatuses []ContainerStatus, 9 qosClass s,
  13 ephemeralContainerStatuses []ContainerStatus, 14 resize s,
  15 resourceClaimStatuses ~[name]PodResourceClaimStatus,
  18 extendedResourceClaimStatus PodExtendedResourceClaimStatus?
PodCondition: 1 type s, 7 observedGeneration l, 2 status s, 3 lastProbeTime t,
  4 lastTransitionTime t, 5 reason s, 6 message s
HostIP: 1 ip s
PodIP: 1 ip s
ContainerStatus: 1 name s, 2 state ContainerState, 3 lastState ContainerState, 4 ready b,
  5 restartCount i, 6 image s, 7 imageID s, 8 containerID s, 9 started b?,
  10 allocatedResources {}q, 11 resources ResourceRequirements?,
  12 volumeMounts [mountPath]VolumeMountStatus, 13 user ContainerUser?,
  14 allocatedResourcesStatus [name]ResourceStatus, 15 stopSignal s?
ContainerState: 1 waiting ContainerStateWaiting?, 2 running ContainerStateRunning?,
  3 terminated ContainerStateTerminated?
ContainerStateWaiting: 1 reason s, 2 message s
ContainerStateRunning: 1 startedAt t
ContainerStateTerminated: 1 exitCode i, 2 signal i, 3 reason s, 4 message s, 5 startedAt t,
  6 finishedAt t, 7 containerID s
VolumeMountStatus: 1 name s, 2 mountPath s, 3 readOnly b, 4 recursiveReadOnly s?
ContainerUser: 1 linux LinuxContainerUser?
LinuxContainerUser: 1 uid l, 2 gid l, 3 supplementalGroups []l
ResourceStatus: 1 name s, 2 resources []ResourceHealth
ResourceHealth: 1 resourceID s, 2 health s
PodResourceClaimStatus: 1 name s, 2 resourceClaimName s?
PodExtendedResourceClaimStatus: 1 requestMappings []ContainerExtendedResourceRequest,
  2 resourceClaimName s
ContainerExtendedResourceRequest: 1 containerName s, 2 resourceName s, 3 requestName s
ReplicationController: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta,
  2 spec ReplicationControllerSpec, 3 status ReplicationControllerStatus
ReplicationControllerSpec: 1 replicas i?, 4 minReadySeconds i, 2 selector {}s,
  3 template PodTemplateSpec?
PodTemplateSpec: 1 metadata ObjectMeta, 2 spec PodSpec
ReplicationControllerStatus: 1 replicas i, 2 fullyLabeledReplicas i, 4 readyReplicas i,
  5 availableReplicas i, 3 observedGeneration l, 6 conditions [type]ReplicationControllerCondition
ReplicationControllerCondition: 1 type s, 2 status s, 3 lastTransitionTime t, 4 reason s,
  5 message s
Secret: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 5 immutable b?, 2 data {}y,
  4 stringData {}s, 3 type s
ServiceAccount: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 secrets [name]ObjectReference,
  3 imagePullSecrets []LocalObjectReference, 4 automountServiceAccountToken b?
Service: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec ServiceSpec,
  3 status ServiceStatus
ServiceSpec: 1 ports [port]ServicePort, 2 selector {}s, 3 clusterIP s, 18 clusterIPs []s,
  4 type s, 5 externalIPs []s, 7 sessionAffinity s, 8 loadBalancerIP s,
  9 loadBalancerSourceRanges []s, 10 externalName s, 11 externalTrafficPolicy s,
  12 healthCheckNodePort i, 13 publishNotReadyAddresses b,
  14 sessionAffinityConfig SessionAffinityConfig?, 19 ipFamilies []s, 17 ipFamilyPolicy s?,
  20 allocateLoadBalancerNodePorts b?, 21 loadBalancerClass s?, 22 internalTrafficPolicy s?,
  23 trafficDistribution s?
ServicePort: 1 name s, 2 protocol s, 6 appProtocol s?, 3 port i, 4 targetPort x, 5 nodePort i
SessionAffinityConfig: 1 clientIP ClientIPConfig?
ClientIPConfig: 1 timeoutSeconds i?
ServiceStatus: 1 loadBalancer LoadBalancerStatus, 2 conditions [type]Condition
LoadBalancerStatus: 1 ingress []LoadBalancerIngress
LoadBalancerIngress: 1 ip s, 2 hostname s, 3 ipMode s?, 4 ports []PortStatus
PortStatus: 1 port i, 2 protocol s, 3 error s?
Condition: 1 type s, 2 status s, 3 observedGeneration l, 4 lastTransitionTime t, 5 reason s,
  6 message s
Binding: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 target ObjectReference
DaemonSet: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec DaemonSetSpec,
  3 status DaemonSetStatus
DaemonSetSpec: 1 selector LabelSelector?, 2 template PodTemplateSpec,
  3 updateStrategy DaemonSetUpdateStrategy, 4 minReadySeconds i, 6 revisionHistoryLimit i?
DaemonSetUpdateStrategy: 1 type s, 2 rollingUpdate RollingUpdateDaemonSet?
RollingUpdateDaemonSet: 1 maxUnavailable x?, 2 maxSurge x?
DaemonSetStatus: 1 currentNumberScheduled i, 2 numberMisscheduled i, 3 desiredNumberScheduled i,
  4 numberReady i, 5 observedGeneration l, 6 updatedNumberScheduled i, 7 numberAvailable i,
  8 numberUnavailable i, 9 collisionCount i?, 10 conditions [type]DaemonSetCondition
DaemonSetCondition: 1 type s, 2 status s, 3 lastTransitionTime t, 4 reason s, 5 message s
Deployment: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec DeploymentSpec,
  3 status DeploymentStatus
DeploymentSpec: 1 replicas i?, 2 selector LabelSelector?, 3 template PodTemplateSpec,
  4 strategy ~DeploymentStrategy, 5 minReadySeconds i, 6 revisionHistoryLimit i?, 7 paused b,
  9 progressDeadlineSeconds i?
DeploymentStrategy: 1 type s, 2 rollingUpdate RollingUpdateDeployment?
RollingUpdateDeployment: 1 maxUnavailable x?, 2 maxSurge x?
DeploymentStatus: 1 observedGeneration l, 2 replicas i, 3 updatedReplicas i, 7 readyReplicas i,
  4 availableReplicas i, 5 unavailableReplicas i, 9 terminatingReplicas i?,
  6 conditions [type]DeploymentCondition, 8 collisionCount i?
DeploymentCondition: 1 type s, 2 status s, 6 lastUpdateTime t, 7 lastTransitionTime t, 4 reason s,
  5 message s
ReplicaSet: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec ReplicaSetSpec,
  3 status ReplicaSetStatus
ReplicaSetSpec: 1 replicas i?, 4 minReadySeconds i, 2 selector LabelSelector?,
  3 template PodTemplateSpec
ReplicaSetStatus: 1 replicas i, 2 fullyLabeledReplicas i, 4 readyReplicas i,
  5 availableReplicas i, 7 terminatingReplicas i?, 3 observedGeneration l,
  6 conditions [type]ReplicaSetCondition
ReplicaSetCondition: 1 type s, 2 status s, 3 lastTransitionTime t, 4 reason s, 5 message s
StatefulSet: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec StatefulSetSpec,
  3 status StatefulSetStatus
StatefulSetSpec: 1 replicas i?, 2 selector LabelSelector?, 3 template PodTemplateSpec,
  4 volumeClaimTemplates []PersistentVolumeClaim, 5 serviceName s, 6 podManagementPolicy s,
  7 updateStrategy StatefulSetUpdateStrategy, 8 revisionHistoryLimit i?, 9 minReadySeconds i,
  10 persistentVolumeClaimRetentionPolicy StatefulSetPersistentVolumeClaimRetentionPolicy?,
  11 ordinals StatefulSetOrdinals?
StatefulSetUpdateStrategy: 1 type s, 2 rollingUpdate RollingUpdateStatefulSetStrategy?
RollingUpdateStatefulSetStrategy: 1 partition i?, 2 maxUnavailable x?
StatefulSetPersistentVolumeClaimRetentionPolicy: 1 whenDeleted s, 2 whenScaled s
StatefulSetOrdinals: 1 start i
StatefulSetStatus: 1 observedGeneration l, 2 replicas i, 3 readyReplicas i, 4 currentReplicas i,
  5 updatedReplicas i, 6 currentRevision s, 7 updateRevision s, 9 collisionCount i?,
  10 conditions [type]StatefulSetCondition, 11 availableReplicas i
StatefulSetCondition: 1 type s, 2 status s, 3 lastTransitionTime t, 4 reason s, 5 message s
Job: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec JobSpec, 3 status JobStatus
JobSpec: 1 parallelism i?, 2 completions i?, 3 activeDeadlineSeconds l?,
  11 podFailurePolicy PodFailurePolicy?, 16 successPolicy SuccessPolicy?, 7 backoffLimit i?,
  12 backoffLimitPerIndex i?, 13 maxFailedIndexes i?, 4 selector LabelSelector?,
  5 manualSelector b?, 6 template PodTemplateSpec, 8 ttlSecondsAfterFinished i?,
  9 completionMode s?, 10 suspend b?, 14 podReplacementPolicy s?, 15 managedBy s?
PodFailurePolicy: 1 rules []PodFailurePolicyRule
PodFailurePolicyRule: 1 action s, 2 onExitCodes PodFailurePolicyOnExitCodesRequirement?,
  3 onPodConditions []PodFailurePolicyOnPodConditionsPattern
PodFailurePolicyOnExitCodesRequirement: 1 containerName s?, 2 operator s, 3 values []i
PodFailurePolicyOnPodConditionsPattern: 1 type s, 2 status s
SuccessPolicy: 1 rules []SuccessPolicyRule
SuccessPolicyRule: 1 succeededIndexes s?, 2 succeededCount i?
JobStatus: 1 conditions [type]JobCondition, 2 startTime t?, 3 completionTime t?, 4 active i,
  5 succeeded i, 6 failed i, 11 terminating i?, 7 completedIndexes s, 10 failedIndexes s?,
  8 uncountedTerminatedPods UncountedTerminatedPods?, 9 ready i?
JobCondition: 1 type s, 2 status s, 3 lastProbeTime t, 4 lastTransitionTime t, 5 reason s,
  6 message s
UncountedTerminatedPods: 1 succeeded []s, 2 failed []s
Lease: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec LeaseSpec
LeaseSpec: 1 holderIdentity s?, 2 leaseDurationSeconds i?, 3 acquireTime u?, 4 renewTime u?,
  5 leaseTransitions i?, 6 strategy s?, 7 preferredHolder s?
PodDisruptionBudget: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta,
  2 spec PodDisruptionBudgetSpec, 3 status PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: 1 minAvailable x?, 2 selector !LabelSelector?, 3 maxUnavailable x?,
  4 unhealthyPodEvictionPolicy s?
PodDisruptionBudgetStatus: 1 observedGeneration l, 2 disruptedPods {}t, 3 disruptionsAllowed i,
  4 currentHealthy i, 5 desiredHealthy i, 6 expectedPods i, 7 conditions [type]Condition
Eviction: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 deleteOptions DeleteOptions?
DeleteOptions: 0 apiVersion s, 0 kind s, 1 gracePeriodSeconds l?, 2 preconditions Preconditions?,
  3 orphanDependents b?, 4 propagationPolicy s?, 5 dryRun []s,
  6 ignoreStoreReadErrorWithClusterBreakingPotential b?
Preconditions: 1 uid s?, 2 resourceVersion s?
ClusterRoleBinding: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 subjects []Subject,
  3 roleRef RoleRef
Subject: 1 kind s, 2 apiGroup s, 3 name s, 4 namespace s
RoleRef: 1 apiGroup s, 2 kind s, 3 name s
ClusterRole: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 rules []PolicyRule,
  3 aggregationRule AggregationRule?
PolicyRule: 1 verbs []s, 2 apiGroups []s, 3 resources []s, 4 resourceNames []s,
  5 nonResourceURLs []s
AggregationRule: 1 clusterRoleSelectors []LabelSelector
RoleBinding: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 subjects []Subject,
  3 roleRef RoleRef
Role: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 rules []PolicyRule
PriorityClass: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 value i, 3 globalDefault b,
  4 description s, 5 preemptionPolicy s?
CSIDriver: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec CSIDriverSpec
CSIDriverSpec: 1 attachRequired b?, 2 podInfoOnMount b?, 3 volumeLifecycleModes []s,
  4 storageCapacity b?, 5 fsGroupPolicy s?, 6 tokenRequests []TokenRequest, 7 requiresRepublish b?,
  8 seLinuxMount b?, 9 nodeAllocatableUpdatePeriodSeconds l?
TokenRequest: 1 audience s, 2 expirationSeconds l?
CSINode: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec CSINodeSpec
CSINodeSpec: 1 drivers [name]CSINodeDriver
CSINodeDriver: 1 name s, 2 nodeID s, 3 topologyKeys []s, 4 allocatable VolumeNodeResources?
VolumeNodeResources: 1 count i?
CSIStorageCapacity: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta,
  2 nodeTopology LabelSelector?, 3 storageClassName s, 4 capacity q?, 5 maximumVolumeSize q?
StorageClass: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 provisioner s, 3 parameters {}s,
  4 reclaimPolicy s?, 5 mountOptions []s, 6 allowVolumeExpansion b?, 7 volumeBindingMode s?,
  8 allowedTopologies []TopologySelectorTerm
TopologySelectorTerm: 1 matchLabelExpressions []TopologySelectorLabelRequirement
TopologySelectorLabelRequirement: 1 key s, 2 values []s
VolumeAttachment: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec VolumeAttachmentSpec,
  3 status VolumeAttachmentStatus
VolumeAttachmentSpec: 1 attacher s, 2 source VolumeAttachmentSource, 3 nodeName s
VolumeAttachmentSource: 1 persistentVolumeName s?, 2 inlineVolumeSpec PersistentVolumeSpec?
VolumeAttachmentStatus: 1 attached b, 2 attachmentMetadata {}s, 3 attachError VolumeError?,
  4 detachError VolumeError?
VolumeError: 1 time t, 2 message s, 3 errorCode i?
Scale: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta, 2 spec ScaleSpec, 3 status ScaleStatus
ScaleSpec: 1 replicas i
ScaleStatus: 1 replicas i, 2 selector s
SelfSubjectAccessReview: 0 apiVersion s, 0 kind s, 1 metadata ObjectMeta,
  2 spec SelfSubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
SelfSubjectAccessReviewSpec: 1 resourceAttributes ResourceAttributes?,
  2 nonResourceAttributes NonResourceAttributes?
ResourceAttributes: 1 namespace s, 2 verb s, 3 group s, 4 version s, 5 resource s,
  6 subresource s, 7 name s, 8 fieldSelector FieldSelectorAttributes?,
  9 labelSelector LabelSelectorAttributes?
FieldSelectorAttributes: 1 rawSelector s, 2 requirements []FieldSelectorRequirement
FieldSelectorRequirement: 1 key s, 2 operator s, 3 values []s
LabelSelectorAttributes: 1 rawSelector s, 2 requirements []LabelSelectorRequirement
NonResourceAttributes: 1 path s, 2 verb s
SubjectAccessReviewStatus: 1 allowed b, 4 denied b, 2 reason s, 3 evaluationError s
)";

}  // namespace

std::string_view schema_text() { return kSchema; }

}  // namespace stowage::local
