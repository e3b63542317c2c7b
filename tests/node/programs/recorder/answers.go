package main

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// What the kubelet asks besides sandboxes and containers: always well, no limits, no statistics.

func (t *runtimeTable) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "recorder", RuntimeVersion: "1.0.0",
		RuntimeApiVersion: "v1"}, nil
}

func (t *runtimeTable) Status(context.Context, *cri.StatusRequest) (*cri.StatusResponse, error) {
	return &cri.StatusResponse{Status: &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}}}, nil
}

func (t *runtimeTable) UpdateRuntimeConfig(context.Context, *cri.UpdateRuntimeConfigRequest) (
	*cri.UpdateRuntimeConfigResponse, error) {
	return &cri.UpdateRuntimeConfigResponse{}, nil
}

func (t *runtimeTable) UpdateContainerResources(context.Context,
	*cri.UpdateContainerResourcesRequest) (*cri.UpdateContainerResourcesResponse, error) {
	return &cri.UpdateContainerResourcesResponse{}, nil
}

func (t *runtimeTable) ReopenContainerLog(context.Context, *cri.ReopenContainerLogRequest) (
	*cri.ReopenContainerLogResponse, error) {
	return &cri.ReopenContainerLogResponse{}, nil
}

func (t *runtimeTable) ListContainerStats(context.Context, *cri.ListContainerStatsRequest) (
	*cri.ListContainerStatsResponse, error) {
	return &cri.ListContainerStatsResponse{}, nil
}

func (t *runtimeTable) ListPodSandboxStats(context.Context, *cri.ListPodSandboxStatsRequest) (
	*cri.ListPodSandboxStatsResponse, error) {
	return &cri.ListPodSandboxStatsResponse{}, nil
}

// images has every image that is asked for.
type images struct {
	cri.UnimplementedImageServiceServer
}

func (images) ListImages(context.Context, *cri.ListImagesRequest) (*cri.ListImagesResponse, error) {
	return &cri.ListImagesResponse{}, nil
}

func (images) ImageStatus(_ context.Context, asked *cri.ImageStatusRequest) (
	*cri.ImageStatusResponse, error) {
	name := asked.GetImage().GetImage()
	return &cri.ImageStatusResponse{Image: &cri.Image{
		Id: name, RepoTags: []string{name}, Size: 1, Spec: asked.GetImage()}}, nil
}

func (images) PullImage(_ context.Context, asked *cri.PullImageRequest) (
	*cri.PullImageResponse, error) {
	return &cri.PullImageResponse{ImageRef: asked.GetImage().GetImage()}, nil
}

func (images) RemoveImage(context.Context, *cri.RemoveImageRequest) (
	*cri.RemoveImageResponse, error) {
	return &cri.RemoveImageResponse{}, nil
}

func (images) ImageFsInfo(context.Context, *cri.ImageFsInfoRequest) (
	*cri.ImageFsInfoResponse, error) {
	usage := []*cri.FilesystemUsage{{
		Timestamp: time.Now().UnixNano(), FsId: &cri.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes: &cri.UInt64Value{Value: 1}, InodesUsed: &cri.UInt64Value{Value: 1}}}
	return &cri.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
