// RUN: not tierup-opt %s --tierup-verify-specialized 2>&1 | FileCheck %s
// A broken contract is reported at the user's line, which the location names.

// CHECK: step.py:12:4: error: 'torch.aten.sort' op breaks the contract 'specialized': aten.sort is left to tier 0: there is no native code for it
func.func @step(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %dim = torch.constant.int 0
  %down = torch.constant.bool false
  %0, %1 = torch.aten.sort %x, %dim, %down : !torch.vtensor<[4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64> loc("step.py":12:4)
  return %0 : !torch.vtensor<[4],f32>
}
