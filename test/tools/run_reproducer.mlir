// A reproducer says itself what to run, in the form of mlir-opt's.

// RUN: tierup-opt %s --run-reproducer | FileCheck %s
// RUN: tierup-opt %s --run-reproducer --dump-pass-pipeline 2>&1 >%t | FileCheck %s --check-prefix=PIPELINE
// RUN: not tierup-opt %s --run-reproducer --cse 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not tierup-opt %S/split.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: tierup-opt %s -o - 2>&1 | FileCheck %s --check-prefix=IGNORED

// CHECK-COUNT-1: torch.constant.int 1
// CHECK-NOT: torch.constant.int
// CHECK: torch.aten.tanh

// PIPELINE: builtin.module(func.func(canonicalize{max-iterations=1}),cse)
// BOTH: tierup-opt: --run-reproducer takes the passes from the file: give none
// NONE: is no reproducer: behind the module it must say what to run
// IGNORED-COUNT-2: torch.constant.int 1

func.func @f(%a: !torch.vtensor<[2,3],f32>) -> (!torch.vtensor<[2,3],f32>, !torch.int, !torch.int) {
  %0 = torch.aten.tanh %a : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  %1 = torch.constant.int 1
  %2 = torch.constant.int 1
  return %0, %1, %2 : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int
}
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(canonicalize{max-iterations=1}),cse)",
      disable_threading: false,
      verify_each: true
    }
  }
#-}
