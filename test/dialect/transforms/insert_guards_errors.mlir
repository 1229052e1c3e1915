// RUN: tierup-opt %s --split-input-file --tierup-insert-guards --verify-diagnostics

func.func @may_be_written(%x: !torch.tensor) -> !torch.tensor {
  // expected-error@below {{watches a tensor that may be written: tierup-functionalize comes before guards}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4]>} : (!torch.tensor) -> !torch.tensor
  return %0 : !torch.tensor
}

// -----
func.func @of_another_program(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error@below {{was profiled on other values than its types allow}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[5]>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
