// tierup-opt in the place of torch-mlir's own driver: its flags, dialects and effects.
// RUN: tierup-opt < %s -convert-torch-to-linalg -canonicalize -split-input-file -mlir-print-local-scope -verify-diagnostics | FileCheck %s --check-prefix=LOCAL
// RUN: tierup-opt <%s -convert-torch-to-linalg=allow-non-finites=false --split-input-file -mlir-disable-threading | FileCheck %s --check-prefix=ALIAS
// RUN: tierup-opt %s -pass-pipeline='builtin.module(func.func(torch-decompose-complex-ops{legal-ops=aten.softmax.int}))' -split-input-file | FileCheck %s --check-prefix=UNUSED
// RUN: tierup-opt %s -split-input-file --mlir-elide-elementsattrs-if-larger=2 -mlir-print-skip-regions | FileCheck %s --check-prefix=SKIPPED
// RUN: tierup-opt %s -split-input-file --mlir-elide-elementsattrs-if-larger=2 | FileCheck %s --check-prefix=ELIDED
// RUN: not tierup-opt %s --mlir-elide-elementsattrs-if-larger=two 2>&1 | FileCheck %s --check-prefix=NUMBER

// NUMBER: tierup-opt: option --mlir-elide-elementsattrs-if-larger takes a number, not 'two'
// SKIPPED-COUNT-4: module {...}

// LOCAL-LABEL: func.func @rows
// LOCAL: torch_c.to_builtin_tensor %{{.*}} : !torch.vtensor<[2,3],f32> -> tensor<2x3xf32>
// LOCAL: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>
// ALIAS: #[[MAP:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// ALIAS-LABEL: func.func @rows
// ALIAS: linalg.generic {indexing_maps = [#[[MAP]]
func.func @rows(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> {
  %0 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}

// -----

// UNUSED-LABEL: func.func @unused_ops_stay
// UNUSED: torch.aten.size.int
func.func @unused_ops_stay(%x: !torch.vtensor<[?],f32>) {
  %zero = torch.constant.int 0
  %0 = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  return
}

// -----

// LOCAL-LABEL: func.func @casts
// LOCAL: torch_c.from_i64
func.func @casts(%i: i64, %t: tensor<2xf32>) -> (!torch.int, !torch.vtensor<[2],f32>) {
  %0 = torch_c.from_i64 %i
  %1 = torch_c.from_builtin_tensor %t : tensor<2xf32> -> !torch.vtensor<[2],f32>
  return %0, %1 : !torch.int, !torch.vtensor<[2],f32>
}

// -----

// ELIDED: torch.vtensor.literal(dense_resource<__elided__> : tensor<4xf32>)
func.func @literal() -> !torch.vtensor<[4],f32> {
  %0 = torch.vtensor.literal(dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>) : !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
