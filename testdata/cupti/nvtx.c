// Ranges by NVIDIA's own header of NVTX, which loads the library that NVTX_INJECTION64_PATH names (check.sh).
#include <nvtx3/nvToolsExt.h>

int main(void) {
	nvtxRangePushA("step");
	nvtxRangePushW(L"forward");
	int depth = nvtxRangePop();
	nvtxDomainHandle_t domain = nvtxDomainCreateA("training");
	nvtxEventAttributes_t a = {0};
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "backward");
	nvtxDomainRangePushEx(domain, &a);
	nvtxDomainRangePop(domain);
	nvtxRangeId_t id = nvtxRangeStartA("copy");
	nvtxRangeEnd(id);
	nvtxMarkA("a mark");
	nvtxRangePop();
	return depth == 1 && nvtxRangePop() < 0 ? 0 : 1;
}
